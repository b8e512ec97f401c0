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
  linkinfo?: { info_kind?: string; info_data?: { vlan_filtering?: number } };
}

interface PresentPort {
  mac?: string;
  ifname?: string;
  master?: string;
}

/**
 * Finds those of the addresses that are pods behind a bridge of this host, each at a veth of its own. A bridge offers no segmentation of encapsulated
 * packets: whatever is sent into it through a tunnel is first cut into packets of the MTU and summed up by the processor. A veth takes them whole. So an
 * encapsulated packet that goes straight to the port costs a fraction. Left alone are bridges that know VLANs, and those whose answers a strict reverse
 * path filter would refuse then.
 */
export async function findPortNeighbours(run: Run, addresses: readonly string[]): Promise<PortNeighbour[]> {
  const bridges = addresses.length > 0 ? await plainBridges(run) : [];
  if (bridges.length === 0) return [];
  const [neighbours, links, answer] = await Promise.all([
    ipQuery<PresentNeighbour>(run, ["-4", "neigh", "show"]),
    ipQuery<PresentLink>(run, ["-d", "link", "show", "type", "bridge_slave"]),
    run("bridge", ["-j", "fdb", "show"]),
  ]);
  const ports = links.filter(({ master = "", linkinfo }) => linkinfo?.info_kind === "veth" && bridges.includes(master));
  const learned = answer.trim() === "" ? [] : (JSON.parse(answer) as PresentPort[]);
  return addresses.flatMap((address) => {
    const known = neighbours.filter(({ dst, lladdr }) => dst === address && lladdr !== undefined);
    // What a port is known for outlives what the bridge has learned: a veth serves one pod, and ends with it.
    const own = known.find(({ dev }) => ports.some(({ ifname }) => ifname === dev));
    if (own) return portNeighbour(address, own.dev, own.lladdr);
    return known.flatMap(({ dev: bridge, lladdr }) => {
      const entry = learned.find(({ mac, master }) => mac === lladdr && master === bridge);
      const port = ports.find(({ ifname, master }) => ifname === entry?.ifname && master === bridge);
      return portNeighbour(address, port?.ifname, lladdr);
    });
  });
}

function portNeighbour(address: string, device: string | undefined, lladdr: string | undefined): PortNeighbour[] {
  return device !== undefined && lladdr !== undefined ? [{ address, device, hardwareAddress: lladdr }] : [];
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
