import type { Pod } from "kubernetes-types/core/v1";
import { ConfigurationResource, mapRemoteAddress } from "../../agent/api/index.js";
import { Capture, unexpectedPackets } from "../support/capture.js";
import { WEB_PORT } from "../support/workload.js";
import { NAMESPACE, type Demo } from "./environment.js";
import type { Steps } from "./steps.js";

/** What the gateway server listens on; its Service may expose another port on the nodes. */
export const API_PORT = 6443;

/** Looks at the peering as a person would, and prints what it sees. Throws at the first thing that is not as it should be. */
export async function showPeering(demo: Demo, steps: Steps, pods: Pod[]): Promise<void> {
  const { consumer, provider } = demo;
  await steps.run("kubectl get foreignclusters (consumer)", () => showForeignCluster(demo.consumer, "Provider", steps));
  await steps.run("kubectl get foreignclusters (provider)", () => showForeignCluster(demo.provider, "Consumer", steps));
  await steps.run("kubectl get nodes: the virtual node is Ready", async () => {
    const text = await consumer.kubectl(["get", "nodes", "-l", "liqo.io/type=virtual-node"]);
    steps.note(text);
    expectMatch(text, /\sReady\s+agent/, "a Ready virtual node with the role agent");
  });
  await steps.run("kubectl get pods: offloaded, with the provider's addresses", async () => {
    steps.note(await consumer.kubectl(["get", "pods", "-n", NAMESPACE, "-o", "wide"]));
    steps.note(await provider.kubectl(["get", "pods", "-A", "-l", "liqo.io/managed-by=shadowpod", "-o", "wide"]));
    return `${pods.length} pods on ${pods[0]?.spec?.nodeName ?? "?"}`;
  });
}

/** Sends requests both ways, with a capture of the link running, and proves that nothing readable crossed it. */
export async function showTraffic(demo: Demo, steps: Steps, pods: Pod[]): Promise<void> {
  const link = captureInterface(demo);
  if (!link) return exchange(demo, steps, pods);
  const capture = await Capture.start(link, nodeAddress(demo, "consumer"), nodeAddress(demo, "provider"));
  try {
    await exchange(demo, steps, pods);
  } finally {
    await capture.stop();
  }
  const packets = await capture.stop();
  await steps.run("the link carried only WireGuard and the API servers' TLS", () => judgeCapture(demo, packets));
}

/** Requests from either side, logs and exec: everything that crosses the link for a person. */
async function exchange({ consumer, provider }: Demo, steps: Steps, pods: Pod[]): Promise<void> {
  const [first = "", second = ""] = pods.map(({ metadata }) => metadata?.name ?? "");
  await steps.run("HTTP from a consumer pod to the offloaded pods, through the Service", async () => {
    const answer = await inPod(consumer, "client", httpGet("http://web/index.html"));
    return expectMatch(answer, /served by web-/, "an answer of a web pod");
  });
  await steps.run("HTTP from an offloaded pod back to a consumer pod", async () => {
    const client = await consumer.kubectl(["get", "pod", "client", "-n", NAMESPACE, "-o", "jsonpath={.status.podIP}"]);
    const address = await addressAtProvider(provider, client);
    const answer = await inPod(consumer, first, httpGet(`http://${address}:${WEB_PORT}/index.html`));
    return expectMatch(answer, /served by client/, "an answer of the consumer's pod");
  });
  await steps.run("kubectl logs of an offloaded pod", async () => {
    const logs = await consumer.kubectl(["logs", "-n", NAMESPACE, first]);
    expectMatch(logs, /serving on/, "the pod's first line");
    return logs.split("\n")[0] ?? "";
  });
  await steps.run("kubectl exec in an offloaded pod", async () => {
    return expectMatch(await inPod(consumer, second, ["hostname"]), new RegExp(second), "the pod's own name");
  });
}

/** A Service's rules reach the nodes a moment after its pods are Ready: refused and lost connections are tried again for some seconds. */
function httpGet(url: string): string[] {
  return ["wget", "-q", "--timeout=3", "--tries=8", "--waitretry=1", "--retry-connrefused", "-O", "-", url];
}

async function judgeCapture(demo: Demo, packets: Awaited<ReturnType<Capture["stop"]>>): Promise<string> {
  const outputs = await demo.stack.outputs();
  const port = (outputs["endpoint"] as { port?: number } | undefined)?.port;
  if (!port) throw new Error(`the stack's output "endpoint" names no port: ${JSON.stringify(outputs["endpoint"])}`);
  const strange = unexpectedPackets(packets, port, API_PORT);
  if (strange.length > 0) throw new Error(`${strange.length} packets are neither, the first: ${strange[0]?.line}`);
  const tunnel = packets.filter(({ protocol }) => protocol === "udp").length;
  if (tunnel === 0) throw new Error("no packet of the tunnel was seen: the capture proves nothing");
  return `${tunnel} packets of the tunnel, ${packets.length - tunnel} of the API servers`;
}

async function showForeignCluster(lab: Demo["consumer"], role: string, steps: Steps): Promise<string> {
  const text = await lab.kubectl(["get", "foreignclusters"]);
  steps.note(text);
  expectMatch(text, new RegExp(`\\s${role}\\s`), `the role ${role}`);
  return "";
}

/** How the provider's pods call a pod of the consumer: its address, in the range that the provider remapped the consumer's pods to. */
async function addressAtProvider(provider: Demo["provider"], address: string): Promise<string> {
  const [configuration] = (await provider.client.list(ConfigurationResource)).items;
  const mapped = configuration && mapRemoteAddress(configuration, address);
  if (!mapped) throw new Error(`the provider has no Configuration that says how it calls ${address}`);
  return mapped;
}

function inPod(lab: Demo["consumer"], pod: string, command: string[]): Promise<string> {
  return lab.kubectl(["exec", "-n", NAMESPACE, pod, "--", ...command], { timeoutMs: 30_000 });
}

function nodeAddress(demo: Demo, which: "consumer" | "provider"): string {
  return demo[which].cluster.nodes[0]?.address ?? "";
}

/** The local backend names the host's end of each node's link; elsewhere there is nothing to capture on. */
function captureInterface(demo: Demo): string | undefined {
  return demo.consumer.cluster.nodes[0]?.hostInterface;
}

function expectMatch(text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) throw new Error(`expected ${what}, got: ${text.trim() || "nothing"}`);
  return text.trim();
}
