import { z } from "zod";
import { clusterField, defineFunction } from "../framework/index.js";
import { readClusterInfo } from "./cluster-info.js";
import { valueAtDottedPath } from "./dotted-path.js";
import { clusterInfo } from "./info-schema.js";

/** liqo:index:getClusterInfo: what Liqo's `info` tells of one cluster. */
export const getClusterInfo = defineFunction({
  token: "liqo:index:getClusterInfo",
  description: "The state of the agent in a cluster, and its peerings in short.",
  inputs: z.object({
    cluster: clusterField("The cluster to ask."),
    get: z.string().optional().meta({
      description:
        "A dotted path into the answer, such as `local.clusterID` (in any case); what is there is answered as `value`. Default: none.",
    }),
  }),
  outputs: clusterInfo.extend({
    value: z.unknown().optional().meta({ description: "What `get` asked for." }),
  }),
  async call(context, { cluster, get }) {
    const info = await readClusterInfo(await context.client(cluster), context.signal);
    return get === undefined ? info : { ...info, value: valueAtDottedPath(info, withDocumentedAliases(get)) };
  },
});

/** Liqo's documentation writes `--get clusterid` for the local cluster's ID. */
function withDocumentedAliases(path: string): string {
  return path.toLowerCase() === "clusterid" ? "local.clusterID" : path;
}
