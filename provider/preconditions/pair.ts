import type { KubeClient } from "../../agent/runtime/index.js";
import type { CallContext, ClusterArgs, ObjectMetadata } from "../framework/index.js";
import { withObjectMetadata } from "../kube/object-metadata.js";
import { findAgent, recentAgent, type InstalledAgent } from "./agent.js";
import { describeVersion, judgeVersions } from "./versions.js";

export type Side = "consumer" | "provider";

/** One cluster of a pair, with its agent. */
export interface Peer {
  side: Side;
  client: KubeClient;
  clusterId: string;
  /** Where the agent is installed. */
  agentNamespace: string;
  agent: InstalledAgent;
}

/** The consumer offloads, the provider runs. */
export interface Pair {
  consumer: Peer;
  provider: Peer;
}

export interface PairArgs extends Partial<ObjectMetadata> {
  consumer?: ClusterArgs;
  provider?: ClusterArgs;
}

/** The ID of resources that a pair has one of: "consumer-id/provider-id". */
export function pairId({ consumer, provider }: Pair): string {
  return `${consumer.clusterId}/${provider.clusterId}`;
}

/** The remote of a peer in its pair. */
export function remoteOf(pair: Pair, peer: Peer): Peer {
  return peer.side === "consumer" ? pair.provider : pair.consumer;
}

/**
 * Connects to both clusters and makes sure that they can be peered, before anything is changed.
 *
 * @param expected the pair that the resource was made for ("consumer-id/provider-id")
 * @throws Error naming property, clusters, reason and remedy
 */
export async function openPair(context: CallContext, args: PairArgs, expected?: string): Promise<Pair> {
  const [consumer, provider] = await Promise.all([
    openSide(context, "consumer", args, recentAgent),
    openSide(context, "provider", args, recentAgent),
  ]);
  const pair = expectedPair(consumer, provider, expected);
  const misfit = misfitOf(context, pair);
  if (misfit) throw new Error(`${misfit.reason}. Upgrade one, or allow it by the provider's skipVersionCheck`);
  warnOfDoubt(context, pair);
  return pair;
}

/**
 * The same to see what is there: undefined when neither cluster has an agent any more, as the custom resources went with it. Versions that do not fit
 * are no reason not to look, as agents are upgraded one after the other: a warning tells of them.
 */
export async function openFound(context: CallContext, args: PairArgs, expected: string): Promise<Pair | undefined> {
  const [consumer, provider] = await Promise.all([
    openSide(context, "consumer", args, findAgent),
    openSide(context, "provider", args, findAgent),
  ]);
  return consumer.agent || provider.agent ? seenPair(context, consumer, provider, expected) : undefined;
}

/** The same to import: both agents must be there. */
export async function openImported(context: CallContext, args: PairArgs, expected: string): Promise<Pair> {
  const [consumer, provider] = await Promise.all([
    openSide(context, "consumer", args, findAgent),
    openSide(context, "provider", args, findAgent),
  ]);
  return seenPair(context, consumer, provider, expected);
}

function seenPair(context: CallContext, consumer: OpenedSide, provider: OpenedSide, expected: string): Pair {
  const pair = expectedPair(consumer, provider, expected);
  const misfit = misfitOf(context, pair);
  if (misfit) context.log("warning", `${misfit.reason}: up can change nothing here unless one is upgraded before`);
  else warnOfDoubt(context, pair);
  return pair;
}

function expectedPair(consumer: OpenedSide, provider: OpenedSide, expected?: string): Pair {
  const pair = pairOf(consumer, provider);
  if (expected !== undefined && pairId(pair) !== expected) throw otherPair(pair, expected);
  return pair;
}

export interface OpenedSide {
  side: Side;
  client: KubeClient;
  agent: InstalledAgent | undefined;
}

async function openSide(
  context: CallContext,
  side: Side,
  args: PairArgs,
  find: typeof recentAgent,
): Promise<OpenedSide> {
  const client = withObjectMetadata(await context.client(args[side]), args);
  return { side, client, agent: await find(client, context.signal) };
}

/** Throws unless both agents are there and the cluster IDs differ. */
export function pairOf(consumer: OpenedSide, provider: OpenedSide): Pair {
  const pair = { consumer: peerOf(consumer, provider), provider: peerOf(provider, consumer) };
  if (pair.consumer.clusterId === pair.provider.clusterId) {
    throw new Error(
      `consumer, provider: both clusters have the cluster ID "${pair.consumer.clusterId}" (contexts ${consumer.client.cluster} and ` +
        `${provider.client.cluster}): name two different clusters, or install one agent anew with another clusterId`,
    );
  }
  return pair;
}

/** A peer, or the reason why it is none: with both versions, since a missing agent and a wrong version are mended in the same place. */
function peerOf(own: OpenedSide, other: OpenedSide): Peer {
  const { side, client, agent } = own;
  if (agent) return { side, client, clusterId: agent.clusterId, agentNamespace: agent.namespace, agent };
  const there = other.agent ? describeVersion(other.agent) : "none either";
  throw new Error(
    `${side}: there is no agent in cluster ${client.cluster} (in cluster ${other.client.cluster}: ${there}): install one of the same ` +
      "minor version first, for example by an Agent resource that this one depends on",
  );
}

/** Agents whose versions do not fit, in words; undefined where they do, or may be used all the same. */
export function misfitOf({ config }: CallContext, pair: Pair): { reason: string } | undefined {
  const { consumer, provider } = pair;
  if (config.skipVersionCheck || judgeVersions(consumer.agent, provider.agent) !== "refuse") return undefined;
  return { reason: `consumer, provider: the agents' versions do not fit: ${bothVersions(pair)}` };
}

/** Versions that may fit or not: a Liqo installation's, and one that cannot be told. */
function warnOfDoubt(context: CallContext, pair: Pair): void {
  const { consumer, provider } = pair;
  if (judgeVersions(consumer.agent, provider.agent) !== "warn") return;
  if (!consumer.agent.isOwn || !provider.agent.isOwn) {
    context.log(
      "warning",
      `${bothVersions(pair)}: peerings with other installations are supported for equal minor versions of Liqo only`,
    );
    return;
  }
  if (context.config.skipVersionCheck) return;
  const untold = [consumer, provider].filter(({ agent }) => agent.version === undefined);
  context.log(
    "warning",
    `${untold.map(({ side }) => side).join(", ")}: the version of the agent in cluster ${untold.map(({ client }) => client.cluster).join(" and in cluster ")} ` +
      `cannot be told, as its controller's Deployment may not be seen or names none: make sure that both agents are of the same minor version (${bothVersions(pair)})`,
  );
}

function bothVersions({ consumer, provider }: Pair): string {
  return `cluster ${consumer.client.cluster} runs ${describeVersion(consumer.agent)}, cluster ${provider.client.cluster} ${describeVersion(provider.agent)}`;
}

function otherPair(pair: Pair, expected: string): Error {
  return new Error(
    `consumer, provider: the kubeconfigs lead to the clusters ${pairId(pair)}, but this resource was made for ${expected}: ` +
      "give it those clusters' kubeconfigs, or replace it (pulumi up --replace URN)",
  );
}
