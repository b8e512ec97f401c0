import type { Run } from "./command.js";
import { ipBatch } from "./ip.js";
import {
  LINK_PREFIX,
  endCommands,
  hardwareAddress,
  newEndCommands,
  readLinks,
  type LinkEnd,
  type PresentLink,
  type PresentLinks,
} from "./link-end.js";

/** UDP port of the encapsulation between nodes and gateways (network specification, §8). */
export const ENCAPSULATION_PORT = 6091;

/** One end of a link that any network between node and gateway carries; its identifier is the virtual network's. */
export interface VxlanLink extends LinkEnd {
  /** Where the other end is reached. */
  remote: string;
}

/** Reads the links of ours: VXLAN on our port under our prefix. */
export function readVxlan(run: Run): Promise<PresentLinks> {
  return readLinks(run, "vxlan", isOurs);
}

function isOurs({ ifname, linkinfo }: PresentLink): boolean {
  return ifname.startsWith(LINK_PREFIX) && linkinfo?.info_data?.port === ENCAPSULATION_PORT;
}

/** The iproute2 commands that turn the present links into the desired ones. None when nothing differs. */
export function vxlanCommands(desired: readonly VxlanLink[], present: PresentLinks): string[] {
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
    ...newEndCommands(link),
  ];
}

function updateCommands(link: VxlanLink, old: PresentLink, present: PresentLinks): string[] {
  return [
    // In place: routes through the link stay, so nothing of a peer goes astray while its gateway moves.
    ...(old.linkinfo?.info_data?.remote === link.remote
      ? []
      : [`link set dev ${link.name} type vxlan id ${link.id} remote ${link.remote}`]),
    ...endCommands(link, old, present),
  ];
}

/** Brings the links of ours to the desired state. Resolves to whether anything was changed. */
export async function applyVxlan(run: Run, desired: readonly VxlanLink[]): Promise<boolean> {
  const commands = vxlanCommands(desired, await readVxlan(run));
  await ipBatch(run, commands);
  return commands.length > 0;
}
