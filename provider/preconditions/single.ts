import type { CallContext, ClusterArgs, ObjectMetadata } from "../framework/index.js";
import { withObjectMetadata } from "../kube/object-metadata.js";
import { findAgent, recentAgent } from "./agent.js";
import type { Peer } from "./pair.js";

export interface SingleArgs extends Partial<ObjectMetadata> {
  cluster?: ClusterArgs;
}

/**
 * Connects to the one cluster of a resource.
 *
 * @param expected the cluster ID that the resource was made for
 * @throws Error when the agent is missing there, or the cluster is another one
 */
export async function openCluster(context: CallContext, args: SingleArgs, expected?: string): Promise<Peer> {
  const client = withObjectMetadata(await context.client(args.cluster), args);
  const agent = await recentAgent(client, context.signal);
  if (!agent) {
    throw new Error(
      `cluster: there is no agent in cluster ${client.cluster}: install it first, for example by an Agent resource that this one depends on`,
    );
  }
  if (expected !== undefined && agent.clusterId !== expected) {
    throw new Error(
      `cluster: the kubeconfig leads to the cluster ${agent.clusterId}, but this resource was made for ${expected}: ` +
        "give it that cluster's kubeconfig, or replace it (pulumi up --replace URN)",
    );
  }
  return { side: "consumer", client, clusterId: agent.clusterId, agentNamespace: agent.namespace, agent };
}

/** The same to look at something or take it apart: undefined when there is no agent any more, so that nothing of it can be there either. */
export async function openIfInstalled(
  context: CallContext,
  args: SingleArgs,
  expected: string,
): Promise<Peer | undefined> {
  const client = await context.client(args.cluster);
  if (!(await findAgent(client, context.signal))) return undefined;
  return openCluster(context, args, expected);
}
