import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Pod } from "kubernetes-types/core/v1";
import { DEFAULT_MTU } from "../../agent/gateway/constants.js";
import { WIREGUARD_GO_ENVIRONMENT } from "../../agent/gateway/tunnel-device.js";
import { PodResource } from "../../agent/runtime/index.js";
import { ensureTool, TEST_TOOLS_IMAGE, type ClusterNode } from "../clusters/index.js";
import { exec } from "../support/exec.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, localPod, waitForPods } from "../support/workload.js";
import { median, type Result } from "./result.js";

const SECONDS = 4;
const ROUNDS = 3;
const DEVICE = "wgbench";
const PORT = 51_999;
const BARE = { client: "192.0.2.1", server: "192.0.2.2" };
const IPERF = ["iperf3", "-s"];

/** A place that iperf3 runs in. */
type Run = (command: readonly string[]) => Promise<string>;

interface Path {
  client: Run;
  /** As the client knows the server. */
  address: string;
}

const MEASUREMENTS = {
  "TCP, one stream": ["-P", "1"],
  "TCP, four streams": ["-P", "4"],
  "UDP packets of 200 bytes": ["-u", "-b", "0", "-l", "200"],
};

/**
 * Pods through the link against bare wireguard-go between the two nodes, at the same MTU, turn by turn in one run. Needs clusters
 * whose nodes are network namespaces of this machine, and a namespace that is offloaded to the virtual node.
 */
export async function benchNetwork(
  consumer: LabCluster,
  provider: LabCluster,
  namespace: string,
  virtualNode: string,
): Promise<Result[]> {
  const [from, to] = [consumer.cluster.nodes[0], provider.cluster.nodes[0]];
  if (!from?.netns || !to?.netns) {
    console.log("network: left out, the nodes of these clusters are not network namespaces of this machine");
    return [];
  }
  const linked = await throughLink(consumer, namespace, virtualNode);
  const bare = await bareTunnel(from, to);
  const server = inNode(to, IPERF);
  try {
    return await compare(linked, bare.path);
  } finally {
    for (const child of [server, ...bare.processes]) await end(child);
    for (const name of ["iperf-server", "iperf-client"]) {
      await consumer.client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0 });
    }
  }
}

async function compare(linked: Path, bare: Path): Promise<Result[]> {
  const results: Result[] = [];
  for (const [what, options] of Object.entries(MEASUREMENTS)) {
    console.log(`network: ${what}`);
    const rates = await alternate(linked, bare, (path) => rate(path, options));
    results.push(ratio(`${what}: link against bare wireguard-go`, rates, ">= 0.95", (value) => value >= 0.95));
  }
  console.log("network: round-trip time");
  const times = await alternate(linked, bare, roundTrip);
  results.push(ratio("round-trip time: link against bare wireguard-go", times, "<= 1.15", (value) => value <= 1.15));
  return results;
}

async function alternate(linked: Path, bare: Path, measure: (path: Path) => Promise<number>) {
  const values = { linked: [] as number[], bare: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    values.bare.push(await measure(bare));
    values.linked.push(await measure(linked));
  }
  return { linked: median(values.linked), bare: median(values.bare) };
}

function ratio(
  name: string,
  { linked, bare }: { linked: number; bare: number },
  goal: string,
  isMet: (value: number) => boolean,
): Result {
  const value = linked / bare;
  console.log(`  link ${linked.toPrecision(4)}, bare ${bare.toPrecision(4)}`);
  return { name, value: Math.round(value * 100) / 100, unit: "x", goal, ok: isMet(value) };
}

/** Bits per second for streams, packets per second for datagrams, as the server received them. */
async function rate({ client, address }: Path, options: readonly string[]): Promise<number> {
  const output = await client(["iperf3", "-c", address, "-t", String(SECONDS), "-J", ...options]);
  const { end: summary, error } = JSON.parse(output) as {
    error?: string;
    end: {
      sum_received?: { bits_per_second: number };
      sum?: { packets?: number; lost_packets?: number; seconds: number };
    };
  };
  if (error) throw new Error(`iperf3 to ${address}: ${error}`);
  const { sum, sum_received: received } = summary;
  if (sum?.packets !== undefined) return (sum.packets - (sum.lost_packets ?? 0)) / sum.seconds;
  if (!received) throw new Error(`iperf3 to ${address}: no result`);
  return received.bits_per_second;
}

/** The average in milliseconds. */
async function roundTrip({ client, address }: Path): Promise<number> {
  const output = await client(["busybox", "ping", "-q", "-c", "50", "-i", "0.05", address]);
  const average = /= [\d.]+\/([\d.]+)\//.exec(output)?.[1];
  if (!average) throw new Error(`ping to ${address}: ${output.trim()}`);
  return Number(average);
}

async function throughLink(consumer: LabCluster, namespace: string, virtualNode: string): Promise<Path> {
  const manager = { fieldManager: "bench" };
  await consumer.client.apply(PodResource, localPod(namespace, "iperf-client"), manager);
  await consumer.client.apply(PodResource, remoteServer(namespace, virtualNode), manager);
  const address = await waitForPods(consumer, namespace, "the pods of iperf3 Ready", (pods) => {
    const all = ["iperf-client", "iperf-server"].map((name) => pods.find(({ metadata }) => metadata?.name === name));
    return all.every((pod) => pod && isReady(pod)) ? all[1]?.status?.podIP : undefined;
  });
  const client: Run = (command) =>
    consumer.kubectl(["exec", "-n", namespace, "iperf-client", "--", ...command], { timeoutMs: 60_000 });
  return { client, address };
}

function remoteServer(namespace: string, nodeName: string): Pod {
  return {
    metadata: { name: "iperf-server", namespace },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          name: "iperf",
          image: TEST_TOOLS_IMAGE,
          command: IPERF,
          readinessProbe: { tcpSocket: { port: 5201 }, periodSeconds: 1 },
        },
      ],
    },
  };
}

/** wireguard-go between the namespaces of two nodes, with nothing else on the way. It goes with its processes. */
async function bareTunnel(from: ClusterNode, to: ClusterNode): Promise<{ path: Path; processes: ChildProcess[] }> {
  const program = await ensureTool("wireguard-go");
  const processes = [from, to].map((node) => inNode(node, [program, "-f", DEVICE], WIREGUARD_GO_ENVIRONMENT));
  const [clientKeys, serverKeys] = [await keyPair(), await keyPair()];
  await configure(from, clientKeys.privateKey, BARE.client, serverKeys.publicKey, BARE.server, to.address);
  await configure(to, serverKeys.privateKey, BARE.server, clientKeys.publicKey, BARE.client, from.address);
  const client: Run = async ([command = "", ...args]) =>
    (await exec("nsenter", [...namespaceOf(from), command, ...args])).stdout;
  return { path: { client, address: BARE.server }, processes };
}

async function configure(
  node: ClusterNode,
  privateKey: string,
  address: string,
  peerKey: string,
  peerAddress: string,
  endpoint: string,
): Promise<void> {
  const script = `
    for i in $(seq 100); do wg show ${DEVICE} >/dev/null 2>&1 && break; sleep 0.05; done
    wg set ${DEVICE} listen-port ${PORT} private-key /dev/stdin peer ${peerKey} allowed-ips ${peerAddress}/32 endpoint ${endpoint}:${PORT}
    ip address add ${address}/24 dev ${DEVICE}; ip link set ${DEVICE} up mtu ${DEFAULT_MTU}`;
  await exec("nsenter", [...namespaceOf(node), "sh", "-c", script], { input: privateKey });
}

async function keyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = (await exec("wg", ["genkey"])).stdout.trim();
  return { privateKey, publicKey: (await exec("wg", ["pubkey"], { input: privateKey })).stdout.trim() };
}

const namespaceOf = ({ netns = "" }: ClusterNode): string[] => [`--net=/run/netns/${netns}`];

function inNode(node: ClusterNode, [command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawn("nsenter", [...namespaceOf(node), command, ...args], {
    stdio: "ignore",
    env: { ...process.env, ...env },
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
