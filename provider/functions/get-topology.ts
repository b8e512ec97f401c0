import { messageOf } from "../../agent/runtime/kube-error.js";
import { defineFunction, type CallContext, type ClusterArgs } from "../framework/index.js";
import { mergeViews, type Answer } from "./topology/merge.js";
import { topologyInputs, topologyOutputs } from "./topology/schema.js";
import { readView } from "./topology/view.js";

/** liqo:index:getTopology: several clusters and how they are joined. */
export const getTopology = defineFunction({
  token: "liqo:index:getTopology",
  description:
    "Clusters and how they are joined: networks with their round-trip times, who uses whose resources, and how much of them. A cluster that does not answer is told as such, " +
    "and is no failure.",
  inputs: topologyInputs,
  outputs: topologyOutputs,
  timeout: 60,
  async call(context, { clusters }) {
    return mergeViews(await Promise.all(clusters.map((cluster) => ask(context, cluster))));
  },
});

/** A context that is of no use (its cluster is not in the kubeconfig, a file is gone) says nothing of the others. */
async function ask(context: CallContext, cluster: ClusterArgs): Promise<Answer> {
  let name = cluster.context ?? "";
  try {
    const client = await context.client(cluster);
    name = client.cluster;
    return { name, view: await readView(client, context.signal) };
  } catch (error) {
    if (name === "") throw error;
    return { name, error: messageOf(error) };
  }
}
