import { Names } from "../../agent/api/index.js";
import { isUnreachable, messageOf, type KubeClient } from "../../agent/runtime/index.js";
import type { CallContext, ClusterArgs } from "../framework/index.js";
import { findAgent } from "./agent.js";
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
 * @param forceUnreachable go on without a cluster that cannot be reached, as it will not come back
 * @throws Error when a cluster cannot be reached, or is not the one that the resource was made for
 */
export async function openDeparting(
  context: CallContext,
  args: PairArgs & { forceUnreachable?: boolean },
  id: string,
): Promise<DepartingPair> {
  const { consumerId, providerId } = splitPairId(id);
  const [consumer, provider] = await Promise.all([
    reach(context, "consumer", args.consumer, consumerId, args.forceUnreachable),
    reach(context, "provider", args.provider, providerId, args.forceUnreachable),
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
  side: Side,
  args: ClusterArgs | undefined,
  expected: string,
  forceUnreachable = false,
): Promise<Peer | undefined> {
  try {
    return await open(context, side, args, expected);
  } catch (error) {
    if (!isUnreachable(error) || context.signal.aborted) throw error;
    if (!forceUnreachable) {
      throw new Error(
        `${side}: ${messageOf(error)}. If the cluster is gone for good, set forceUnreachable to true, run pulumi up and destroy again: ` +
          "the other cluster is then cleaned alone",
        { cause: error },
      );
    }
    context.log("warning", `${side}: cluster ${expected} cannot be reached and is left out, as forceUnreachable asks`);
    return undefined;
  }
}

async function open(context: CallContext, side: Side, args: ClusterArgs | undefined, expected: string): Promise<Peer> {
  const client: KubeClient = await context.client(args);
  const agent = await findAgent(client, context.signal);
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
