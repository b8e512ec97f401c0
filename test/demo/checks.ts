import type { Pod } from "kubernetes-types/core/v1";
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
  const { consumer, provider } = demo;
  const link = captureInterface(demo);
  const capture = link
    ? await Capture.start(link, nodeAddress(demo, "consumer"), nodeAddress(demo, "provider"))
    : undefined;
  try {
    await steps.run("HTTP from a consumer pod to the offloaded pods, through the Service", async () => {
      const answer = await inPod(consumer, "client", ["wget", "-q", "-T", "10", "-O", "-", "http://web/index.html"]);
      return expectMatch(answer, /served by web-/, "an answer of a web pod");
    });
    await steps.run("HTTP from an offloaded pod back to a consumer pod", async () => {
      const client = await consumer.kubectl([
        "get",
        "pod",
        "client",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.status.podIP}",
      ]);
      const web = pods[0]?.metadata?.name ?? "";
      const seen = await provider.kubectl(["get", "foreignclusters", "-o", "jsonpath={.items[0].metadata.name}"]);
      const address = await remoteAddress(demo, seen, client);
      const answer = await inPod(consumer, web, [
        "wget",
        "-q",
        "-T",
        "10",
        "-O",
        "-",
        `http://${address}:${WEB_PORT}/index.html`,
      ]);
      return expectMatch(answer, /served by client/, "an answer of the consumer's pod");
    });
    await steps.run("kubectl logs of an offloaded pod", async () => {
      const web = pods[0]?.metadata?.name ?? "";
      const logs = await consumer.kubectl(["logs", "-n", NAMESPACE, web, "--tail=3"]);
      return (
        expectMatch(await consumer.kubectl(["logs", "-n", NAMESPACE, web]), /serving on/, "the pod's first line") &&
        logs.trim().split("\n").pop()
      );
    });
    await steps.run("kubectl exec in an offloaded pod", async () => {
      const web = pods[1]?.metadata?.name ?? "";
      return expectMatch(await inPod(consumer, web, ["hostname"]), new RegExp(web), "the pod's own name");
    });
  } finally {
    const packets = await capture?.stop();
    if (packets)
      await steps.run("the link carried only WireGuard and the API servers' TLS", () => judgeCapture(demo, packets));
  }
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
async function remoteAddress(demo: Demo, consumerId: string, address: string): Promise<string> {
  const selector = `liqo.io/remote-cluster-id=${consumerId}`;
  const text = await demo.provider.kubectl([
    "get",
    "configurations.networking.liqo.io",
    "-A",
    "-l",
    selector,
    "-o",
    "jsonpath={.items[0].status.remote.cidr.pod[0]}",
  ]);
  const [range = "", length = ""] = text.split("/");
  if (Number(length) !== 16)
    throw new Error(`the provider's remapping of the consumer's pods is not a /16 as the demo's range is: "${text}"`);
  return [...range.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
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
