import type { Run } from "./command.js";
import { ipBatch } from "./ip.js";
import {
  LINK_PREFIX,
  endCommands,
  hardwareAddress,
  newEndCommands,
  readLinks,
  type LinkEnd,
  type LinkSide,
  type PresentLink,
  type PresentLinks,
} from "./link-end.js";

/*
 * A direct link is a veth pair between a node and a gateway that runs on it, beside the encapsulated link that any two have: nothing is encapsulated on it, and no
 * bridge is passed. The node makes both ends; each side then cares for its own. It is used from when the gateway has brought up its end, which tells the node that
 * the gateway knows what to do with what comes by it, and it goes with the gateway's network namespace. Whatever prevents it, the encapsulated link is there.
 */

/** Digits follow, so few that none of the encapsulated links has such a name. */
const DIRECT_PREFIX = `${LINK_PREFIX}d`;
const DIRECT_NAME = /^liqo\.d(\d+)$/;

/** Its name at both ends. */
export function directLinkName(id: number): string {
  return `${DIRECT_PREFIX}${id}`;
}

function idOf(name: string): number | undefined {
  const id = DIRECT_NAME.exec(name)?.[1];
  return id === undefined ? undefined : Number(id);
}

/** Of the node's end. */
export interface DirectLink extends LinkEnd {
  side: "node";
  /** The address of the gateway's pod. */
  gateway: string;
  /** The pod's network namespace as the node numbers it; undefined while it is not known. */
  netns?: number;
}

/** Reads the direct links of ours. */
export function readDirect(run: Run, side: LinkSide): Promise<PresentLinks> {
  return readLinks(run, "veth", ({ ifname, address }) => {
    const id = idOf(ifname);
    return id !== undefined && address === hardwareAddress(id, side);
  });
}

/** Whether both ends are up. */
export function isPassable({ flags }: PresentLink): boolean {
  return flags.includes("LOWER_UP");
}

/** The iproute2 commands that turn a node's direct links into the desired ones. None when nothing differs. */
export function directCommands(desired: readonly DirectLink[], present: PresentLinks): string[] {
  const fitting = (link: DirectLink): PresentLink | undefined => present.links.find((there) => leadsTo(there, link));
  const kept = desired.map(fitting);
  return [
    ...present.links.filter((there) => !kept.includes(there)).map(({ ifname }) => `link del dev ${ifname}`),
    ...desired.flatMap((link) => {
      const there = fitting(link);
      return there ? endCommands(link, there, present) : createCommands(link);
    }),
  ];
}

/** By the address that was noted when it was made: the pod that has it now has it for as long as the link is there. */
function leadsTo({ ifname, ifalias, link_netnsid }: PresentLink, { name, gateway, netns }: DirectLink): boolean {
  return ifname === name && ifalias === gateway && (netns === undefined || link_netnsid === netns);
}

function createCommands(link: DirectLink): string[] {
  const { name, id, mtu, netns, gateway } = link;
  if (netns === undefined) return [];
  const end = (side: LinkSide): string => `name ${name} address ${hardwareAddress(id, side)} mtu ${mtu}`;
  return [
    `link add ${end("node")} link-netnsid ${netns} type veth peer ${end("gateway")}`,
    `link set dev ${name} alias ${gateway}`,
    ...newEndCommands(link),
  ];
}

/** Brings a node's direct links to the desired state. Resolves to whether anything was changed. */
export async function applyDirect(run: Run, desired: readonly DirectLink[]): Promise<boolean> {
  const commands = directCommands(desired, await readDirect(run, "node"));
  await ipBatch(run, commands);
  return commands.length > 0;
}

/** A gateway's end of the link to its own node, as it is; undefined where the node has made none. */
export async function readGatewayEnd(run: Run, { name }: LinkEnd): Promise<PresentEnd | undefined> {
  const present = await readDirect(run, "gateway");
  const link = present.links.find(({ ifname }) => ifname === name);
  return link && { link, present, isPassable: isPassable(link) };
}

export interface PresentEnd {
  link: PresentLink;
  present: PresentLinks;
  isPassable: boolean;
}

/** Gives a gateway's end what it needs, and brings it up last: from then on the node uses it. */
export function applyGatewayEnd(run: Run, end: LinkEnd, { link, present }: PresentEnd): Promise<void> {
  return ipBatch(run, endCommands(end, link, present));
}
