import {
  CidrType,
  ConfigurationResource,
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  NetworkResource,
  PublicKeyResource,
  type Network,
} from "../../../agent/api/index.js";
import { cidrsOverlap } from "../../../agent/api/cidr.js";
import { chooseRange } from "../../../agent/controller/network/addresses/allocation.js";
import { nodeAddresses } from "../../../agent/controller/network/nodes.js";
import { isForbidden, messageOf } from "../../../agent/runtime/index.js";
import type { CallContext } from "../../framework/index.js";
import {
  APPLY,
  foreseeRights,
  rightsToChange,
  type NeededIn,
  type Pair,
  type Peer,
} from "../../preconditions/index.js";
import { ifVisible } from "../../waits/index.js";
import { expectedNamespaces, rightsInPair } from "../tenant-namespace/index.js";
import { rangesOf } from "./configure.js";
import { linkEnds } from "./ends.js";
import { findEndObjects, type EndObjects } from "./find.js";
import { orient } from "./connect.js";
import type { LinkOptions } from "./options.js";
import { judgeRanges } from "./ranges.js";

/** Where agents take ranges from, unless they are told otherwise; and what is supposed of those whose settings may not be seen. */
const USUAL_POOLS = ["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"];

/** What making a link needs to be allowed on each side. Who serves is not asked for administrators. */
export function linkRights(
  pair: Pair,
  serverSide: Peer["side"] | (() => Promise<Peer["side"]>),
  signal: AbortSignal,
): NeededIn[] {
  return rightsInPair(pair, signal, async (side, namespace) => {
    const server = typeof serverSide === "string" ? serverSide : await serverSide();
    return [
      { type: NetworkResource, verbs: ["list"], namespace: pair[side].agentNamespace },
      { type: ConfigurationResource, verbs: ["list", ...APPLY], namespace },
      { type: side === server ? GatewayServerResource : GatewayClientResource, verbs: ["list", ...APPLY], namespace },
      { type: PublicKeyResource, verbs: ["list", ...APPLY], namespace },
      { type: ConnectionResource, verbs: ["list"], namespace },
    ];
  });
}

/** Tells in a preview how the link will be: who serves, what is remapped and why, and which rights are missing. Changes nothing. */
export async function foreseeLink(context: CallContext, pair: Pair, options: LinkOptions): Promise<void> {
  const { server, client, consumer, provider } = await orientationOf(context, pair, options);
  const isThere = server.present.server !== undefined;
  const { type, port } = options.server;
  context.log(
    "info",
    isThere
      ? `the ${server.end.side} (cluster ${server.end.client.cluster}) has the gateway server already`
      : `the ${server.end.side} (cluster ${server.end.client.cluster}) gets the gateway server, a Service of type ${type} on UDP port ${port}, ` +
          `which the ${client.end.side}'s nodes must reach`,
  );
  const [ofConsumer, ofProvider] = await Promise.all([
    heldIn(pair.consumer, context.signal),
    heldIn(pair.provider, context.signal),
  ]);
  foreseeRanges(context, { own: pair.consumer, held: ofConsumer }, { peer: pair.provider, held: ofProvider }, consumer);
  foreseeRanges(context, { own: pair.provider, held: ofProvider }, { peer: pair.consumer, held: ofConsumer }, provider);
  await foreseeRights(context, linkRights(pair, server.end.side, context.signal));
}

/** What a change of a link needs to be allowed. */
export function linkChangeRights(
  context: CallContext,
  pair: Pair,
  options: LinkOptions,
  drift: readonly string[] | undefined,
): NeededIn[] {
  let orientation: ReturnType<typeof orientationOf> | undefined;
  const serverSide = async (): Promise<Peer["side"]> => {
    orientation ??= orientationOf(context, pair, options);
    return (await orientation).server.end.side;
  };
  return rightsToChange(linkRights(pair, serverSide, context.signal), drift);
}

/** What there is of the link, and which cluster serves. */
async function orientationOf(context: CallContext, pair: Pair, { location }: LinkOptions) {
  const ends = linkEnds(pair, await expectedNamespaces(pair, context.signal));
  const [consumer, provider] = await Promise.all([
    findEndObjects(ends.consumer, context.signal),
    findEndObjects(ends.provider, context.signal),
  ]);
  return { ...orient(ends, { consumer, provider }, location), consumer, provider };
}

/** What one cluster will call the other's ranges. */
function foreseeRanges(
  context: CallContext,
  { own, held }: { own: Peer; held: Held },
  { peer, held: remote }: { peer: Peer; held: Held },
  present: EndObjects,
): void {
  const ranges = judgeRanges(remote.networks.filter(({ metadata }) => metadata.namespace === peer.agentNamespace));
  if (!("done" in ranges)) return;
  const mapped = rangesOf(present.configuration?.status?.remote?.cidr);
  const taken = held.networks
    .filter(({ metadata }) => metadata.labels?.[Labels.remoteClusterID] !== peer.clusterId)
    .map(({ spec, status, metadata }) => ({
      cidr: status?.cidr ?? spec.cidr,
      shared: false,
      name: metadata.name ?? "",
    }));
  taken.push(...held.nodes.map((address) => ({ cidr: `${address}/32`, shared: false, name: "a node" })));
  for (const type of [CidrType.pod, CidrType.external] as const) {
    ranges.done[type].forEach((range, index) => {
      const given = mapped[type][index] ?? choose(context, own, range, taken);
      if (given === undefined) return;
      taken.push({ cidr: given, shared: false, name: `${peer.clusterId}-${type}` });
      if (given === range) return;
      const clash = taken.find(({ cidr }) => cidr !== given && cidrsOverlap(cidr, range));
      const why = clash ? `overlaps ${clash.cidr} (${clash.name})` : "is outside the pools";
      context.log(
        "info",
        `the ${own.side} will call the ${peer.side}'s ${type} range ${range} ${given}, as it ${why} there`,
      );
    });
  }
}

function choose(
  context: CallContext,
  own: Peer,
  cidr: string,
  taken: { cidr: string; shared: boolean }[],
): string | undefined {
  try {
    return chooseRange({ cidr, immutable: false, shared: false }, taken, own.agent.ipamPools ?? USUAL_POOLS);
  } catch (error) {
    context.log("warning", `${own.side}: ${messageOf(error)}`);
    return undefined;
  }
}

/** What stands against ranges in a cluster, as far as it may be seen. */
interface Held {
  networks: Network[];
  nodes: string[];
}

async function heldIn(peer: Peer, signal: AbortSignal): Promise<Held> {
  const [networks, nodes] = await Promise.all([
    networksOf(peer, signal),
    ifVisible(nodeAddresses(peer.client, signal)),
  ]);
  return { networks, nodes: nodes ?? [] };
}

/** All Networks of a cluster; of its own namespace only where no more may be seen. */
async function networksOf({ client, agentNamespace }: Peer, signal: AbortSignal): Promise<Network[]> {
  try {
    return (await client.list(NetworkResource, { signal })).items;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return (await client.list(NetworkResource, { namespace: agentNamespace, signal })).items;
  }
}
