import { known, type CallContext, type ClusterArgs, type Unknowable } from "../framework/index.js";
import { recentAgent } from "./agent.js";
import { misfitOf, pairOf, type OpenedSide, type Pair, type Peer, type Side } from "./pair.js";

/**
 * The pair as far as a preview can see it: undefined when a kubeconfig is not known yet, a cluster does not answer, or an agent is still to be
 * installed. Throws only for what `up` could not mend: equal cluster IDs.
 */
export async function previewPair(
  context: CallContext,
  inputs: { consumer?: Unknowable<ClusterArgs | undefined>; provider?: Unknowable<ClusterArgs | undefined> },
): Promise<Pair | undefined> {
  const [consumer, provider] = await Promise.all([
    peek(context, "consumer", inputs.consumer),
    peek(context, "provider", inputs.provider),
  ]);
  if (!consumer?.agent || !provider?.agent) return undefined;
  const pair = pairOf(consumer, provider);
  const misfit = misfitOf(context, pair);
  if (misfit) context.log("warning", `${misfit.reason}: up will fail unless one is upgraded before`);
  return pair;
}

/** The one cluster of a resource, likewise. */
export async function previewCluster(
  context: CallContext,
  cluster: Unknowable<ClusterArgs | undefined> | undefined,
): Promise<Peer | undefined> {
  const { client, agent } = (await peek(context, "consumer", cluster)) ?? {};
  if (!client || !agent) return undefined;
  return { side: "consumer", client, clusterId: agent.clusterId, agentNamespace: agent.namespace, agent };
}

async function peek(
  context: CallContext,
  side: Side,
  args: Unknowable<ClusterArgs | undefined> | undefined,
): Promise<OpenedSide | undefined> {
  const cluster = args === undefined ? {} : known<ClusterArgs | undefined>(args);
  if (cluster === undefined) return undefined;
  try {
    const client = await context.client(cluster);
    return { side, client, agent: await recentAgent(client, context.signal) };
  } catch {
    return undefined;
  }
}
