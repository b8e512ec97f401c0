import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run, tryRun } from "../support/exec.js";
import { readJson, stateFolder, writeAtomically } from "../support/files.js";
import { withLock } from "../support/lock.js";
import { addressIn } from "../spec.js";
import { absentFolders, removeFolders } from "./host-folders.js";
import { inNetns } from "./netns.js";
import { hostInterface, netnsName, netnsPath } from "./paths.js";
import { connectPods } from "./pod-network.js";
import type { ClusterRecord, NodeRecord } from "./record.js";

/**
 * The network of all local clusters: one bridge on the host, one network namespace with one link to it per node. Nodes
 * reach each other and the host, and nothing else: the host does not forward for them.
 */
export const NODE_INTERFACE = "eth0";

/** What the clusters of one state folder share. */
export interface SharedNetwork {
  bridge: string;
  subnet: string;
}

interface NetworkRecord extends SharedNetwork {
  /** Folders of the machine that were not there before the first cluster. */
  createdFolders: string[];
}

const recordPath = (): string => join(stateFolder(), "network.json");
const lockPath = (): string => join(stateFolder(), ".network.lock");

/** Runs work while no other run changes what the clusters share: subnet, addresses, bridge. */
export const withNetworkLock = <T>(work: () => Promise<T>): Promise<T> =>
  withLock(lockPath(), "the clusters' network", work);

/** Makes sure of the bridge. Under the network lock. */
export async function ensureBridge(): Promise<SharedNetwork> {
  const links = await linkNames();
  let record = readJson<NetworkRecord>(recordPath());
  if (!record) {
    record = {
      bridge: freeBridge(links),
      subnet: await freeSubnet(),
      createdFolders: absentFolders(),
    };
    writeAtomically(recordPath(), JSON.stringify(record));
  }
  const { bridge, subnet } = record;
  if (!links.has(bridge)) await run("ip", ["link", "add", bridge, "mtu", "1500", "type", "bridge"]);
  await run("ip", ["address", "replace", `${addressIn(subnet, 1)}/24`, "dev", bridge]);
  await run("ip", ["link", "set", bridge, "up"]);
  await allowForwarding(bridge);
  return { bridge, subnet };
}

/** Docker makes the host drop what it would forward, which bridged packets count as where br_netfilter is loaded. */
async function allowForwarding(bridge: string): Promise<void> {
  const chain = await tryRun("iptables", ["--list-rules", "FORWARD"]);
  if (!chain.stdout.startsWith("-P FORWARD DROP")) return;
  const rule = forwardingRule(bridge);
  if ((await tryRun("iptables", ["--check", ...rule])).code !== 0) await run("iptables", ["--insert", ...rule]);
}

const forwardingRule = (bridge: string): string[] => [
  "FORWARD",
  ...["--in-interface", bridge, "--out-interface", bridge, "--jump", "ACCEPT"],
];

function freeBridge(links: ReadonlySet<string>): string {
  const name = Array.from({ length: 100 }, (_, i) => `plq${i}`).find((candidate) => !links.has(candidate));
  if (!name) throw new Error("No free interface name for the clusters' bridge: plq0 to plq99 are all there");
  return name;
}

/** Takes away what the clusters share. Under the network lock, when no cluster is left. */
export async function removeBridge(): Promise<void> {
  const record = readJson<NetworkRecord>(recordPath());
  if (!record) return;
  await tryRun("iptables", ["--delete", ...forwardingRule(record.bridge)]);
  if ((await linkNames()).has(record.bridge)) await run("ip", ["link", "delete", record.bridge]);
  await removeFolders(record.createdFolders);
  rmSync(recordPath(), { force: true });
}

/** Makes sure of one node's network namespace, its link, its routes and the masquerading of its pods. */
export async function ensureNodeNetwork(record: ClusterRecord, node: NodeRecord): Promise<void> {
  const netns = netnsName(node.name);
  const host = hostInterface(node.name);
  await ensureNetns(node.name);
  const inside = (args: string[]): Promise<string> => run("ip", ["-n", netns, ...args]);
  if ((await tryRun("ip", ["-n", netns, "link", "show", NODE_INTERFACE])).code !== 0) {
    await tryRun("ip", ["link", "delete", host]);
    const peer = ["peer", "name", NODE_INTERFACE, "netns", netns];
    await run("ip", ["link", "add", host, "mtu", "1500", "type", "veth", ...peer]);
  }
  await run("ip", ["link", "set", host, "master", record.bridge, "up"]);
  await inside(["link", "set", "lo", "up"]);
  await inside(["address", "replace", `${node.address}/24`, "dev", NODE_INTERFACE]);
  await inside(["link", "set", NODE_INTERFACE, "up"]);
  await inside(["route", "replace", "default", "via", addressIn(record.subnet, 1)]);
  await inNetns(node.name, "sysctl", ["-qw", "net.ipv4.ip_forward=1"]);
  // Answers between two pods of one node must pass the node's connection tracking, or Services break for them.
  await inNetns(node.name, "sysctl", ["-qe", "-w", "net.bridge.bridge-nf-call-iptables=1"]);
  await connectPods(record, node);
}

async function ensureNetns(node: string): Promise<void> {
  const netns = netnsName(node);
  if ((await tryRun("ip", ["-n", netns, "link", "show", "lo"])).code === 0) return;
  // Its file alone is there when its making was cut short.
  if (existsSync(netnsPath(node))) await run("ip", ["netns", "delete", netns]);
  await run("ip", ["netns", "add", netns]);
}

/** Takes one node's network away. */
export async function removeNodeNetwork(node: string): Promise<void> {
  if (existsSync(netnsPath(node))) await run("ip", ["netns", "delete", netnsName(node)]);
  await tryRun("ip", ["link", "delete", hostInterface(node)]);
}

async function linkNames(): Promise<Set<string>> {
  const links = JSON.parse(await run("ip", ["-j", "link", "show"])) as { ifname: string }[];
  return new Set(links.map((link) => link.ifname));
}

/** The first /24 of 172.30.0.0/15 that touches no route of the host. */
async function freeSubnet(): Promise<string> {
  const routes = JSON.parse(await run("ip", ["-j", "-4", "route", "show", "table", "all"])) as { dst: string }[];
  const taken = routes.filter((route) => route.dst !== "default").map((route) => range(route.dst));
  for (let i = 0; i < 512; i++) {
    const subnet = `${addressIn("172.30.0.0/15", i * 256)}/24`;
    const [from, to] = range(subnet);
    if (taken.every(([start, end]) => to < start || from > end)) return subnet;
  }
  throw new Error("No free /24 for the clusters' nodes: 172.30.0.0/15 is all routed elsewhere");
}

function range(cidr: string): [number, number] {
  const [address = "", prefix = "32"] = cidr.split("/");
  const start = address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return [start, start + 2 ** (32 - Number(prefix)) - 1];
}
