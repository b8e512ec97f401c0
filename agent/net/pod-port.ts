import type { Run } from "./command.js";
import { ROUTE_PROTOCOL, ipBatch, ipQuery } from "./ip.js";

/** A neighbour on one of this host's bridges, as reached through the port that it is behind. */
export interface PortNeighbour {
  address: string;
  device: string;
  hardwareAddress: string;
}

interface PresentNeighbour {
  dst?: string;
  dev?: string;
  lladdr?: string;
}

interface PresentLink {
  ifname?: string;
  master?: string;
  link_netnsid?: number;
  linkinfo?: { info_kind?: string; info_data?: { vlan_filtering?: number } };
}

/** Of a bridge's table of hardware addresses. */
interface PresentEntry {
  mac?: string;
  ifname?: string;
  master?: string;
  state?: string;
}

interface PresentRoute {
  dst?: string;
  gateway?: string;
  dev?: string;
}

/** A veth of this host that a pod is behind: a port of a bridge, or by itself where a CNI routes to each pod. */
export interface PodPort {
  address: string;
  device: string;
  hardwareAddress?: string;
  /** The bridge that it is a port of. */
  bridge?: string;
  /** The pod's network namespace, as this host numbers it. */
  netns?: number;
}

/**
 * Finds the veths that those of the addresses are behind that are pods of this host: by the bridges' own knowledge, or by a route to the one address. Behind a port
 * that knows several hardware addresses is a network, no pod.
 */
export async function findPodPorts(run: Run, addresses: readonly string[]): Promise<PodPort[]> {
  if (addresses.length === 0) return [];
  const [neighbours, links, answer, routes] = await Promise.all([
    ipQuery<PresentNeighbour>(run, ["-4", "neigh", "show"]),
    ipQuery<PresentLink>(run, ["-d", "link", "show", "type", "veth"]),
    run("bridge", ["-j", "fdb", "show"]),
    ipQuery<PresentRoute>(run, ["-4", "route", "show", "scope", "link"]),
  ]);
  const learned = (answer.trim() === "" ? [] : (JSON.parse(answer) as PresentEntry[])).filter(
    ({ state }) => state !== "permanent",
  );
  const veth = (name: string | undefined): PresentLink | undefined => links.find(({ ifname }) => ifname === name);
  return addresses.flatMap((address) => {
    const known = neighbours.filter(({ dst, lladdr }) => dst === address && lladdr !== undefined);
    const routed = veth(routes.find(({ dst, gateway }) => dst === address && gateway === undefined)?.dev);
    if (routed && routed.master === undefined) return podPort(address, routed, undefined);
    // What a port is known for outlives what the bridge has learned: a veth serves one pod, and ends with it.
    const own = known.find(({ dev }) => veth(dev)?.master !== undefined);
    if (own) return podPort(address, veth(own.dev), own.lladdr);
    return known.flatMap(({ dev: bridge, lladdr }) => {
      const port = learned.find(({ mac, master }) => mac === lladdr && master === bridge)?.ifname;
      const isOfOne = learned.filter(({ ifname }) => ifname === port).every(({ mac }) => mac === lladdr);
      return isOfOne ? podPort(address, veth(port), lladdr) : [];
    });
  });
}

function podPort(address: string, link: PresentLink | undefined, hardwareAddress: string | undefined): PodPort[] {
  if (link?.ifname === undefined) return [];
  return [{ address, device: link.ifname, hardwareAddress, bridge: link.master, netns: link.link_netnsid }];
}

/**
 * Those of the ports to which what is encapsulated may go straight. A bridge offers no segmentation of encapsulated packets: whatever is sent into it through a
 * tunnel is first cut into packets of the MTU and summed up by the processor. A veth takes them whole. So an encapsulated packet that goes straight to the port costs
 * a fraction. Left alone are bridges that know VLANs, and those whose answers a strict reverse path filter would refuse then.
 */
export async function portNeighbours(run: Run, ports: readonly PodPort[]): Promise<PortNeighbour[]> {
  if (ports.every(({ bridge }) => bridge === undefined)) return [];
  const bridges = await plainBridges(run);
  return ports.flatMap(({ address, device, hardwareAddress, bridge }) =>
    hardwareAddress !== undefined && bridge !== undefined && bridges.includes(bridge)
      ? [{ address, device, hardwareAddress }]
      : [],
  );
}

async function plainBridges(run: Run): Promise<string[]> {
  const links = await ipQuery<PresentLink>(run, ["-d", "link", "show", "type", "bridge"]);
  const plain = links.flatMap(({ ifname, linkinfo }) =>
    ifname !== undefined && !linkinfo?.info_data?.vlan_filtering ? [ifname] : [],
  );
  if (plain.length === 0) return [];
  const settings = await ipQuery<{ interface?: string; rp_filter?: string }>(run, ["-4", "netconf", "show"]);
  // The stricter of a device's own setting and the one for all counts, where 2 is loose and wins.
  const modes = (name: string): (string | undefined)[] =>
    settings.filter((one) => one.interface === name || one.interface === "all").map((one) => one.rp_filter);
  return plain.filter((name) => !modes(name).includes("strict") || modes(name).includes("loose"));
}

/** The neighbours of ours. */
function ownNeighbours(run: Run): Promise<PresentNeighbour[]> {
  return ipQuery<PresentNeighbour>(run, ["-4", "neigh", "show", "proto", String(ROUTE_PROTOCOL)]);
}

function isSame({ dst, dev, lladdr }: PresentNeighbour, { address, device, hardwareAddress }: PortNeighbour): boolean {
  return dst === address && dev === device && lladdr === hardwareAddress;
}

/** Makes the neighbours known at their ports; routes to them may follow. Those that are known already stay as they are. */
export async function addPortNeighbours(run: Run, desired: readonly PortNeighbour[]): Promise<void> {
  const present = desired.length > 0 ? await ownNeighbours(run) : [];
  const lacking = desired.filter((one) => !present.some((there) => isSame(there, one)));
  await ipBatch(
    run,
    lacking.map(
      ({ address, device, hardwareAddress }) =>
        `neigh replace ${address} lladdr ${hardwareAddress} dev ${device} nud permanent protocol ${ROUTE_PROTOCOL}`,
    ),
  );
}

/** Removes all other neighbours of ours, once no route leads to them. Resolves to whether there were any. */
export async function removeOtherPortNeighbours(run: Run, desired: readonly PortNeighbour[]): Promise<boolean> {
  const old = (await ownNeighbours(run)).filter((there) => !desired.some((one) => isSame(there, one)));
  await ipBatch(
    run,
    old.map(({ dst, dev }) => `neigh del ${dst} dev ${dev}`),
  );
  return old.length > 0;
}
