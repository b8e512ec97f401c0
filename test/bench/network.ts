import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Pod } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../agent/api/index.js";
import { DEFAULT_MTU } from "../../agent/gateway/constants.js";
import { WIREGUARD_GO_ENVIRONMENT } from "../../agent/gateway/tunnel-device.js";
import { EndpointSliceResource, PodResource, ServiceResource } from "../../agent/runtime/index.js";
import { ensureTool, TEST_TOOLS_IMAGE } from "../clusters/index.js";
import { exec } from "../support/exec.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, localPod, waitForPods } from "../support/workload.js";
import { controlGroupsOf, processesOf } from "./pod-processes.js";
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
 * Pods through the link against bare wireguard-go between the same two pods: in the same network namespaces, by the same programs, at the same
 * MTU, turn by turn in one run. Bare wireguard-go runs in the pods themselves, as somebody would run it who has no link: its packets take the
 * pods' way out of one cluster and in by a NodePort of the other, as the gateways' own do, and it has the share of the processors that the
 * gateways have. So the ratios show what the link adds: the way from a pod to its gateway, the gateway's rules, and the same at the other end.
 * Needs clusters whose nodes' processes are this machine's own, and a namespace that is offloaded to the virtual node.
 */
export async function benchNetwork(
  consumer: LabCluster,
  provider: LabCluster,
  namespace: string,
  virtualNode: string,
): Promise<Result[]> {
  if (consumer.cluster.backend !== "local" || provider.cluster.backend !== "local") {
    console.log("network: left out, the pods of these clusters are not processes of this machine");
    return [];
  }
  const processes: ChildProcess[] = [];
  try {
    const linked = await throughLink(consumer, namespace, virtualNode);
    const bare = await bareTunnel(consumer, provider, linked.client, processes);
    return await compare(linked, bare);
  } finally {
    await Promise.all(processes.map(end));
    for (const name of Object.values(PODS))
      await consumer.client.delete(PodResource, { name, namespace }, { gracePeriodSeconds: 0 });
    const service = { name: PODS.server, namespace: "default" };
    await provider.client.delete(ServiceResource, service);
    await provider.client.delete(EndpointSliceResource, service);
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

/** One end of the bare tunnel, in a pod. */
interface End {
  pod: Pod;
  /** A process of the pod, by which its network namespace is found. */
  process: number;
  /** What runs for this end has the share of the processors of the gateway's processes. */
  gatewayGroups: string[];
  device: string;
  address: string;
  privateKey: string;
  publicKey: string;
}

async function bareEnd(lab: LabCluster, name: string, device: string, address: string): Promise<End> {
  const labelSelector = { [Labels.networkingComponent]: LabelValues.gatewayComponent };
  const [gateway] = (await lab.client.list(PodResource, { labelSelector })).items;
  const nodes = lab.cluster.nodes.map((node) => node.name);
  const pod = (await lab.client.list(PodResource)).items.find(
    ({ metadata, spec }) => metadata?.name === name && nodes.includes(spec?.nodeName ?? ""),
  );
  const [process] = await processesOf(pod?.metadata?.uid ?? "(none)");
  if (!pod || !process || !gateway?.metadata?.uid)
    throw new Error(`cluster ${lab.cluster.name}: no running pods of the gateway and of ${name}`);
  const gatewayGroups = await controlGroupsOf(gateway.metadata.uid);
  return { pod, process, gatewayGroups, device, address, ...(await keyPair()) };
}

/** wireguard-go in both pods. It goes with its processes, which are added to the list. */
async function bareTunnel(
  consumer: LabCluster,
  provider: LabCluster,
  client: Run,
  processes: ChildProcess[],
): Promise<Path> {
  const program = await ensureTool("wireguard-go");
  const [from, to] = await Promise.all([
    bareEnd(consumer, PODS.client, "bench-client", BARE.client),
    bareEnd(provider, PODS.server, "bench-server", BARE.server),
  ]);
  for (const one of [from, to]) processes.push(start(besides(one, [program, "-f", one.device])));
  const port = await exposed(provider, to.pod);
  await configure(to, from);
  await configure(from, to, `${provider.cluster.nodes[0]?.address}:${port}`);
  return { client, address: to.address };
}

/** A NodePort for the pod's end of the bare tunnel; resolves to its number. */
async function exposed({ client }: LabCluster, pod: Pod): Promise<number> {
  const metadata = { name: PODS.server, namespace: "default" };
  const ports = [{ name: "tunnel", protocol: "UDP", port: PORT }];
  const service = await client.create(ServiceResource, { metadata, spec: { type: "NodePort", ports } });
  await client.create(EndpointSliceResource, {
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [pod.status?.podIP ?? ""], conditions: { ready: true } }],
    ports,
  });
  return service.spec?.ports?.[0]?.nodePort ?? 0;
}

async function configure(one: End, peer: End, endpoint?: string): Promise<void> {
  const { device, address, privateKey } = one;
  // Node's pipes are sockets, which wg does not open as a file.
  const script = `
    for i in $(seq 100); do wg show ${device} >/dev/null 2>&1 && break; sleep 0.05; done
    cat | wg set ${device} listen-port ${PORT} private-key /dev/stdin \
      peer ${peer.publicKey} allowed-ips ${peer.address}/32 ${endpoint ? `endpoint ${endpoint} persistent-keepalive 1` : ""}
    ip address add ${address}/24 dev ${device}; ip link set ${device} up mtu ${DEFAULT_MTU}`;
  await exec("nsenter", [namespaceOf(one), "sh", "-ec", script], { input: privateKey });
}

/** The command that runs in a pod's network namespace and in its gateway's control groups. */
function besides(one: End, command: readonly string[]): string[] {
  const join = one.gatewayGroups.map((folder) => `echo $$ > ${folder}/cgroup.procs`);
  const script = [...join, 'exec "$@"'].join("\n");
  return ["nsenter", namespaceOf(one), "sh", "-ec", script, "sh", ...command];
}

async function keyPair(): Promise<{ privateKey: string; publicKey: string }> {
  const privateKey = (await exec("wg", ["genkey"])).stdout.trim();
  return { privateKey, publicKey: (await exec("wg", ["pubkey"], { input: privateKey })).stdout.trim() };
}

function namespaceOf({ process }: End): string {
  return `--net=/proc/${process}/ns/net`;
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
