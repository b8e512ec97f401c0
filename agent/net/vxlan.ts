import type { Run } from "./command.js";
import { ipBatch, ipQuery } from "./ip.js";

/** UDP port of the encapsulation between nodes and gateways (network specification, §8). */
export const ENCAPSULATION_PORT = 6091;

/** All links between nodes and gateways begin so; CNIs are configured to leave such links alone. */
export const LINK_PREFIX = "liqo.";

export type LinkSide = "node" | "gateway";

/** One end of a point-to-point link between a node and a gateway. */
export interface VxlanLink {
  name: string;
  /** Virtual network identifier, unique in the cluster. */
  id: number;
  /** Where the other end is reached. */
  remote: string;
  mtu: number;
  side: LinkSide;
  /** Addresses of both ends on the link itself. */
  address: string;
  peerAddress: string;
}

/** What iproute2 tells of a link, as far as it matters here. */
interface PresentLink {
  ifname: string;
  mtu: number;
  address?: string;
  flags: string[];
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

/** Both ends derive both hardware addresses from the identifier, so that no address resolution is needed on the link. */
export function hardwareAddress(id: number, side: LinkSide): string {
  const bytes = [0x02, 0x6c, side === "node" ? 0 : 1, (id >> 16) & 255, (id >> 8) & 255, id & 255];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/** What the links of ours look like now. */
export interface PresentVxlan {
  links: PresentLink[];
  addresses: PresentAddresses[];
  neighbours: PresentNeighbour[];
}

/** Reads the links of ours: VXLAN on our port under our prefix. Others are not even looked at. */
export async function readVxlan(run: Run): Promise<PresentVxlan> {
  const links = (await ipQuery<PresentLink>(run, ["-d", "link", "show", "type", "vxlan"])).filter(isOurs);
  if (links.length === 0) return { links, addresses: [], neighbours: [] };
  const [addresses, neighbours] = await Promise.all([
    ipQuery<PresentAddresses>(run, ["-4", "addr", "show"]),
    ipQuery<PresentNeighbour>(run, ["-4", "neigh", "show", "nud", "permanent"]),
  ]);
  return { links, addresses, neighbours };
}

function isOurs({ ifname, linkinfo }: PresentLink): boolean {
  return ifname.startsWith(LINK_PREFIX) && linkinfo?.info_data?.port === ENCAPSULATION_PORT;
}

/** The iproute2 commands that turn the present links into the desired ones. None when nothing differs. */
export function vxlanCommands(desired: readonly VxlanLink[], present: PresentVxlan): string[] {
  const wanted = new Map(desired.map((link) => [link.name, link]));
  const stale = present.links.filter((link) => !fits(link, wanted.get(link.ifname)));
  const kept = new Map(present.links.filter((link) => !stale.includes(link)).map((link) => [link.ifname, link]));
  return [
    ...stale.map(({ ifname }) => `link del dev ${ifname}`),
    ...desired.flatMap((link) => {
      const old = kept.get(link.name);
      return old ? updateCommands(link, old, present) : createCommands(link);
    }),
  ];
}

function fits(present: PresentLink, desired: VxlanLink | undefined): boolean {
  const data = present.linkinfo?.info_data;
  return (
    desired !== undefined && data?.id === desired.id && present.address === hardwareAddress(desired.id, desired.side)
  );
}

function createCommands(link: VxlanLink): string[] {
  const { name, id, remote, mtu, side } = link;
  return [
    `link add name ${name} address ${hardwareAddress(id, side)} mtu ${mtu} type vxlan id ${id} remote ${remote} ` +
      `dstport ${ENCAPSULATION_PORT} ttl 64 nolearning noudpcsum`,
    `link set dev ${name} up`,
    `addr add ${link.address}/32 dev ${name}`,
    neighbourCommand(link),
  ];
}

function updateCommands(link: VxlanLink, old: PresentLink, present: PresentVxlan): string[] {
  const addresses = present.addresses
    .filter(({ ifname }) => ifname === link.name)
    .flatMap(({ addr_info }) => addr_info ?? [])
    .filter(({ family }) => family === "inet");
  const neighbour = present.neighbours.find(({ dst, dev }) => dst === link.peerAddress && dev === link.name);
  const isOwn = ({ local, prefixlen }: { local?: string; prefixlen?: number }): boolean =>
    local === link.address && prefixlen === 32;
  return [
    // In place: routes through the link stay, so nothing of a peer goes astray while its gateway moves.
    ...(old.linkinfo?.info_data?.remote === link.remote
      ? []
      : [`link set dev ${link.name} type vxlan id ${link.id} remote ${link.remote}`]),
    ...(old.mtu === link.mtu ? [] : [`link set dev ${link.name} mtu ${link.mtu}`]),
    ...(old.flags.includes("UP") ? [] : [`link set dev ${link.name} up`]),
    ...addresses.filter((a) => !isOwn(a)).map((a) => `addr del ${a.local}/${a.prefixlen} dev ${link.name}`),
    ...(addresses.some(isOwn) ? [] : [`addr add ${link.address}/32 dev ${link.name}`]),
    ...(neighbour?.lladdr === peerHardwareAddress(link) ? [] : [neighbourCommand(link)]),
  ];
}

function peerHardwareAddress({ id, side }: VxlanLink): string {
  return hardwareAddress(id, side === "node" ? "gateway" : "node");
}

function neighbourCommand(link: VxlanLink): string {
  return `neigh replace ${link.peerAddress} lladdr ${peerHardwareAddress(link)} dev ${link.name} nud permanent`;
}

/** Brings the links of ours to the desired state. Resolves to whether anything was changed. */
export async function applyVxlan(run: Run, desired: readonly VxlanLink[]): Promise<boolean> {
  const commands = vxlanCommands(desired, await readVxlan(run));
  await ipBatch(run, commands);
  return commands.length > 0;
}
