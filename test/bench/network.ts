import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Pod } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../agent/api/index.js";
import { DEFAULT_MTU } from "../../agent/gateway/constants.js";
import { WIREGUARD_GO_ENVIRONMENT } from "../../agent/gateway/tunnel-device.js";
import { PodResource } from "../../agent/runtime/index.js";
import { ensureTool, TEST_TOOLS_IMAGE, type ClusterNode } from "../clusters/index.js";
import { exec } from "../support/exec.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, localPod, waitForPods } from "../support/workload.js";
import { controlGroupsOf } from "./pod-processes.js";
import { atLeast, atMost, median, type Result } from "./result.js";

const SECONDS = 4;
const ROUNDS = 5;
const PORT = 51_999;
/** From a range for documentation: nothing else on the way has such an address. */
const BARE = { client: "192.0.2.1", server: "192.0.2.2" };
const SERVE = ["iperf3", "-s"];
const PODS = { client: "iperf-client", server: "iperf-server" };
const END_MS = 5_000;

/** A place that programs run in; resolves to their output. */
type Run = (command: readonly string[]) => Promise<string>;

interface Path {
  client: Run;
  /** As the client knows the server. */
  address: string;
}

const THROUGHPUT = {
  "TCP, one stream": ["-P", "1"],
  "TCP, eight streams": ["-P", "8"],
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
  const processes: ChildProcess[] = [];
  try {
    const linked = await throughLink(consumer, namespace, virtualNode);
    const ends = await Promise.all([
      bareEnd(consumer, from, PODS.client, "bench-client", BARE.client),
      bareEnd(provider, to, PODS.server, "bench-server", BARE.server),
    ]);
    const bare = await bareTunnel(ends, processes);
    return await compare(linked, bare);
  } finally {
    await Promise.all(processes.map(end));
    for (const name of Object.values(PODS))
      await consumer.client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0 });
  }
}

async function compare(linked: Path, bare: Path): Promise<Result[]> {
  const results: Result[] = [];
  for (const [what, options] of Object.entries(THROUGHPUT)) {
    const ratio = await compareBy(what, linked, bare, (path) => rate(path, options));
    results.push(atLeast(`${what}: link against bare wireguard-go`, ratio, "x", 0.95));
  }
  const ratio = await compareBy("round-trip time", linked, bare, roundTrip);
  return [...results, atMost("round-trip time: link against bare wireguard-go", ratio, "x", 1.15)];
}

/** The median of one over that of the other, measured turn by turn. */
async function compareBy(what: string, linked: Path, bare: Path, measure: (path: Path) => Promise<number>) {
  const values = { linked: [] as number[], bare: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    values.bare.push(await measure(bare));
    values.linked.push(await measure(linked));
  }
  const text = (all: number[]): string => all.map((value) => value.toPrecision(3)).join(" ");
  console.log(`network: ${what}: link ${text(values.linked)}, bare ${text(values.bare)}`);
  return median(values.linked) / median(values.bare);
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
  const output = await client(["busybox", "ping", "-q", "-c", "200", "-i", "0.01", address]);
  const average = /= [\d.]+\/([\d.]+)\//.exec(output)?.[1];
  if (!average) throw new Error(`ping to ${address}: ${output.trim()}`);
  return Number(average);
}

async function throughLink(consumer: LabCluster, namespace: string, virtualNode: string): Promise<Path> {
  const manager = { fieldManager: "bench" };
  await consumer.client.apply(PodResource, localPod(namespace, PODS.client), manager);
  await consumer.client.apply(PodResource, remoteServer(namespace, virtualNode), manager);
  const address = await waitForPods(consumer, namespace, "the pods of iperf3 Ready", (pods) => {
    const [client, server] = [PODS.client, PODS.server].map((name) =>
      pods.find((pod) => pod.metadata?.name === name && isReady(pod)),
    );
    return client && server?.status?.podIP;
  });
  const client: Run = (command) => consumer.kubectl(["exec", "-n", namespace, PODS.client, "--", ...command]);
  return { client, address };
}

function remoteServer(namespace: string, nodeName: string): Pod {
  return {
    metadata: { name: PODS.server, namespace },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          name: "iperf",
          image: TEST_TOOLS_IMAGE,
          command: SERVE,
          readinessProbe: { exec: { command: ["sh", "-c", "netstat -ltn | grep -q :5201"] }, periodSeconds: 1 },
        },
      ],
    },
  };
}

/** One end of the bare tunnel. What runs for it has the share of the processors that its counterpart in the link has: that of the same pods. */
interface End {
  node: ClusterNode;
  device: string;
  address: string;
  privateKey: string;
  publicKey: string;
  gatewayPod: string;
  iperfPod: string;
}

async function bareEnd(
  lab: LabCluster,
  node: ClusterNode,
  iperf: string,
  device: string,
  address: string,
): Promise<End> {
  const labelSelector = { [Labels.networkingComponent]: LabelValues.gatewayComponent };
  const [gateway] = (await lab.client.list(PodResource, { labelSelector })).items;
  const pods = (await lab.client.list(PodResource)).items;
  const twin = pods.find(({ metadata, spec }) => metadata?.name === iperf && spec?.nodeName === node.name);
  const [gatewayPod, iperfPod] = [gateway?.metadata?.uid, twin?.metadata?.uid];
  if (!gatewayPod || !iperfPod) throw new Error(`cluster ${lab.cluster.name}: no pods of the gateway and of ${iperf}`);
  return { node, device, address, gatewayPod, iperfPod, ...(await keyPair()) };
}

/** wireguard-go between the namespaces of two nodes, with nothing else on the way. It goes with its processes, which are added to the list. */
async function bareTunnel([client, server]: [End, End], processes: ChildProcess[]): Promise<Path> {
  const program = await ensureTool("wireguard-go");
  for (const { node, gatewayPod, device } of [client, server])
    processes.push(start(await besides(gatewayPod, node, [program, "-f", device])));
  await configure(client, server);
  await configure(server, client);
  processes.push(start(await besides(server.iperfPod, server.node, SERVE)));
  const run: Run = async (command) => {
    const [file = "", ...args] = await besides(client.iperfPod, client.node, command);
    return (await exec(file, args)).stdout;
  };
  return { client: run, address: server.address };
}

async function configure({ node, device, address, privateKey }: End, peer: End): Promise<void> {
  // Node's pipes are sockets, which wg does not open as a file.
  const script = `
    for i in $(seq 100); do wg show ${device} >/dev/null 2>&1 && break; sleep 0.05; done
    cat | wg set ${device} listen-port ${PORT} private-key /dev/stdin \
      peer ${peer.publicKey} allowed-ips ${peer.address}/32 endpoint ${peer.node.address}:${PORT}
    ip address add ${address}/24 dev ${device}; ip link set ${device} up mtu ${DEFAULT_MTU}`;
  await exec("nsenter", [namespaceOf(node), "sh", "-ec", script], { input: privateKey });
}

/** The command that runs in a node's network namespace and in a pod's control groups. */
async function besides(podUid: string, node: ClusterNode, command: readonly string[]): Promise<string[]> {
  const groups = await controlGroupsOf(podUid);
  const join = groups.map((folder) => `echo $$ > ${folder}/cgroup.procs`);
  const script = [...join, 'exec "$@"'].join("\n");
  return ["nsenter", namespaceOf(node), "sh", "-ec", script, "sh", ...command];
}

async function keyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = (await exec("wg", ["genkey"])).stdout.trim();
  return { privateKey, publicKey: (await exec("wg", ["pubkey"], { input: privateKey })).stdout.trim() };
}

function namespaceOf({ netns = "" }: ClusterNode): string {
  return `--net=/run/netns/${netns}`;
}

function start([file = "", ...args]: readonly string[]): ChildProcess {
  return spawn(file, args, { stdio: "ignore", env: { ...process.env, ...WIREGUARD_GO_ENVIRONMENT } });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(timer);
}
