import type { Run } from "./command.js";
import { ipQuery } from "./ip.js";

/** All links between nodes and gateways begin so; CNIs are configured to leave such links alone. */
export const LINK_PREFIX = "liqo.";

export type LinkSide = "node" | "gateway";

/** One end of a point-to-point link between a node and a gateway, whatever carries it. */
export interface LinkEnd {
  name: string;
  /** Unique in the cluster. */
  id: number;
  mtu: number;
  side: LinkSide;
  /** Addresses of both ends on the link itself. */
  address: string;
  peerAddress: string;
}

/** What iproute2 tells of a link, as far as it matters here. */
export interface PresentLink {
  ifname: string;
  mtu: number;
  address?: string;
  flags: string[];
  ifalias?: string;
  /** The network namespace of the other end, as this one numbers it. */
  link_netnsid?: number;
  linkinfo?: { info_kind?: string; info_data?: { id?: number; remote?: string; port?: number; learning?: boolean } };
}

interface PresentAddresses {
  ifname?: string;
  addr_info?: { family?: string; local?: string; prefixlen?: number }[];
}

interface PresentNeighbour {
  dst: string;
  dev?: string;
  lladdr?: string;
  state?: string[];
}

/** What links of ours look like now. */
export interface PresentLinks {
  links: PresentLink[];
  addresses: PresentAddresses[];
  neighbours: PresentNeighbour[];
}

/** Both ends derive both hardware addresses from the identifier, so that no address resolution is needed on the link. */
export function hardwareAddress(id: number, side: LinkSide): string {
  const bytes = [0x02, 0x6c, side === "node" ? 0 : 1, (id >> 16) & 255, (id >> 8) & 255, id & 255];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

export function peerHardwareAddress({ id, side }: Pick<LinkEnd, "id" | "side">): string {
  return hardwareAddress(id, side === "node" ? "gateway" : "node");
}

/** Reads the links of ours of one kind. Others are not even looked at. */
export async function readLinks(run: Run, kind: string, isOurs: (link: PresentLink) => boolean): Promise<PresentLinks> {
  const links = (await ipQuery<PresentLink>(run, ["-d", "link", "show", "type", kind])).filter(isOurs);
  if (links.length === 0) return { links, addresses: [], neighbours: [] };
  const [addresses, neighbours] = await Promise.all([
    ipQuery<PresentAddresses>(run, ["-4", "addr", "show"]),
    ipQuery<PresentNeighbour>(run, ["-4", "neigh", "show", "nud", "permanent"]),
  ]);
  return { links, addresses, neighbours };
}

/** The iproute2 commands that give a link that is there what both kinds have: MTU, address, the other end, and that it is up. */
export function endCommands(end: LinkEnd, old: PresentLink, present: PresentLinks): string[] {
  const addresses = present.addresses
    .filter(({ ifname }) => ifname === end.name)
    .flatMap(({ addr_info }) => addr_info ?? [])
    .filter(({ family }) => family === "inet");
  const neighbour = present.neighbours.find(({ dst, dev }) => dst === end.peerAddress && dev === end.name);
  const isOwn = ({ local, prefixlen }: { local?: string; prefixlen?: number }): boolean =>
    local === end.address && prefixlen === 32;
  return [
    ...(old.mtu === end.mtu ? [] : [`link set dev ${end.name} mtu ${end.mtu}`]),
    ...addresses.filter((a) => !isOwn(a)).map((a) => `addr del ${a.local}/${a.prefixlen} dev ${end.name}`),
    ...(addresses.some(isOwn) ? [] : [addressCommand(end)]),
    ...(neighbour?.lladdr === peerHardwareAddress(end) ? [] : [neighbourCommand(end)]),
    ...(old.flags.includes("UP") ? [] : [`link set dev ${end.name} up`]),
  ];
}

/** The same of a link that was made this moment. */
export function newEndCommands(end: LinkEnd): string[] {
  return [addressCommand(end), neighbourCommand(end), `link set dev ${end.name} up`];
}

function addressCommand({ name, address }: LinkEnd): string {
  return `addr add ${address}/32 dev ${name}`;
}

function neighbourCommand(end: LinkEnd): string {
  return `neigh replace ${end.peerAddress} lladdr ${peerHardwareAddress(end)} dev ${end.name} nud permanent`;
}
