import { Names, tenantNamespaceName } from "../../agent/api/index.js";
import { messageOf, type KubeClient } from "../../agent/runtime/index.js";
import type { CallContext, ClusterArgs } from "../framework/index.js";
import { isOutOfReach } from "../kube/unreachable.js";
import { findAgent, type InstalledAgent } from "./agent.js";
import type { PairArgs, Peer, Side } from "./pair.js";

/** A pair that is being taken apart: a side that is lost for good is absent. */
export interface DepartingPair {
  consumer?: Peer;
  provider?: Peer;
  consumerId: string;
  providerId: string;
}

/** Reads "consumer-id/provider-id". @throws Error when it is something else */
export function splitPairId(id: string): { consumerId: string; providerId: string } {
  const [consumerId, providerId, ...rest] = id.split("/");
  if (!consumerId || !providerId || rest.length > 0) {
    throw new Error(`"${id}" is not an ID of the form <consumer cluster ID>/<provider cluster ID>`);
  }
  return { consumerId, providerId };
}

/**
 * Connects to the clusters of a pair to take something apart. An agent that is gone is no obstacle.
 *
 * With forceUnreachable, or the provider's deleteUnreachable, it goes on without a cluster that cannot be reached, as that will not come back.
 *
 * @throws Error when a cluster cannot be reached, or is not the one that the resource was made for
 */
export async function openDeparting(
  context: CallContext,
  args: PairArgs & { forceUnreachable?: boolean },
  id: string,
): Promise<DepartingPair> {
  const { consumerId, providerId } = splitPairId(id);
  const force = args.forceUnreachable === true || context.config.deleteUnreachable;
  const [consumer, provider] = await Promise.all([
    reach(context, { side: "consumer", expected: consumerId, remoteId: providerId }, args.consumer, force),
    reach(context, { side: "provider", expected: providerId, remoteId: consumerId }, args.provider, force),
  ]);
  if (!consumer && !provider) {
    context.log(
      "warning",
      "neither cluster can be reached: the resource leaves the state, nothing was changed in the clusters",
    );
  }
  return { consumer, provider, consumerId, providerId };
}

async function reach(
  context: CallContext,
  { side, expected, remoteId }: { side: Side; expected: string; remoteId: string },
  args: ClusterArgs | undefined,
  forceUnreachable: boolean,
): Promise<Peer | undefined> {
  let client: KubeClient;
  let agent: InstalledAgent | undefined;
  try {
    client = await context.client(args);
    agent = await findAgent(client, context.signal);
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (!forceUnreachable || !isOutOfReach(error)) throw new Error(`${side}: ${messageOf(error)}`, { cause: error });
    context.log(
      "warning",
      `${side}: cluster ${expected} cannot be reached and is left out, as ${context.config.deleteUnreachable ? "deleteUnreachable" : "forceUnreachable"} asks: what is in it stays, ` +
        `above all what its namespace ${tenantNamespaceName(remoteId)} holds (${messageOf(error)})`,
    );
    return undefined;
  }
  return departing(side, client, agent, expected);
}

function departing(side: Side, client: KubeClient, agent: InstalledAgent | undefined, expected: string): Peer {
  if (agent && agent.clusterId !== expected) {
    throw new Error(
      `${side}: the kubeconfig leads to the cluster ${agent.clusterId}, but this resource was made for ${expected}: nothing was deleted`,
    );
  }
  return {
    side,
    client,
    clusterId: expected,
    agentNamespace: agent?.namespace ?? Names.namespace,
    agent: agent ?? { clusterId: expected, namespace: Names.namespace, isOwn: true, isAvailable: false },
  };
}
