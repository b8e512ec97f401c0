import type { Container, Pod } from "kubernetes-types/core/v1";
import { agentImageRef } from "../../agent/image/build.js";
import { until } from "../clusters/support/wait.js";
import { exec } from "./exec.js";
import type { LabCluster } from "./lab.js";

/** Ports of the servers that probes ask. */
export const TCP_PORT = 8080;
export const UDP_PORT = 9000;

/** Enough for many full-size packets in both directions. */
const LARGE = 300_000;
/** UDP payloads: small; the largest that fits the default MTU of a link; one that must be cut in two. */
const UDP_SIZES = [5, 1312, 1472];

/**
 * Answers HTTP requests with its name and what was sent, and echoes datagrams; tells who asks by HTTP. Runs on Node.js, with the name
 * and the addresses to serve on as arguments, or the host's name and all of them.
 */
export const SERVER = `
const [name = require("node:os").hostname(), ...addresses] = process.argv.slice(1);
require("node:http").createServer((request, response) => {
  console.log(request.socket.remoteAddress);
  response.setHeader("x-name", name);
  request.pipe(response);
}).listen(${TCP_PORT}, "0.0.0.0", () => {
  for (const address of addresses.length > 0 ? addresses : ["0.0.0.0"]) {
    const socket = require("node:dgram").createSocket("udp4");
    socket.on("message", (message, { port, address }) => socket.send(message, port, address));
    socket.bind(${UDP_PORT}, address, () => console.log("serving"));
  }
});`;

/** A lost datagram is sent again; the first one that is too large for a path teaches its sender. */
const CLIENT = `
const targets = JSON.parse(process.argv[1]);
const within = (ms, work) => new Promise((resolve) => {
  const timer = setTimeout(() => resolve("no answer"), ms);
  work((outcome) => { clearTimeout(timer); resolve(outcome); });
});
const tcp = ({ host, tcpPort = ${TCP_PORT}, answer }, size) => within(10_000, (done) => {
  const request = require("node:http").request({ host, port: tcpPort, method: "POST", agent: false }, (response) => {
    let received = 0;
    response.on("data", (chunk) => (received += chunk.length));
    response.on("end", () => {
      const name = response.headers["x-name"];
      done(received !== size ? received + " bytes" : answer && answer !== name ? "answered by " + name : "");
    });
  });
  request.on("error", (error) => done(error.message));
  request.end(Buffer.alloc(size));
});
const udp = ({ host, udpPort = ${UDP_PORT} }, size) => within(6_000, (done) => {
  const socket = require("node:dgram").createSocket("udp4");
  socket.unref();
  const send = () => socket.send(Buffer.alloc(size), udpPort, host, () => undefined);
  const again = setInterval(send, 300);
  again.unref();
  socket.on("error", (error) => done(error.message));
  socket.on("message", (message) => {
    clearInterval(again);
    done(message.length === size ? "" : message.length + " bytes");
  });
  send();
});
const questions = targets.flatMap((target) => [
  ...[5, ${LARGE}].map((size) => ["TCP " + size, target, tcp(target, size)]),
  ...${JSON.stringify(UDP_SIZES)}.map((size) => ["UDP " + size, target, udp(target, size)]),
]);
Promise.all(questions.map(async ([what, { name }, work]) => [name + ": " + what + ": ", await work])).then((all) => {
  console.log(JSON.stringify(all.filter(([, outcome]) => outcome !== "").map((pair) => pair.join(""))));
  process.exit(0);
});`;

/** A server, and the means to probe others: the agent's image has Node.js. */
export function serverContainer(): Container {
  return {
    name: "server",
    image: agentImageRef(),
    command: ["node", "-e", SERVER],
    readinessProbe: { httpGet: { path: "/", port: TCP_PORT }, periodSeconds: 1, timeoutSeconds: 5 },
    resources: { requests: { cpu: "10m", memory: "32Mi" } },
  };
}

/** What is asked, from wherever. */
export interface Target {
  /** For messages. */
  name: string;
  host: string;
  tcpPort?: number;
  udpPort?: number;
  /** The name that the server must give; any by default. */
  answer?: string;
}

/** Where a probe's questions come from. */
export type Source = { lab: LabCluster; namespace: string; pod: string } | { netns: string };

/** Asks each target by TCP and UDP, with small and with full-size packets, all at once. Resolves to what failed, as "source → target: what". */
export async function probe(source: Source, targets: readonly Target[]): Promise<string[]> {
  const args = ["-e", CLIENT, JSON.stringify(targets)];
  const output =
    "netns" in source
      ? (await exec("nsenter", [`--net=/run/netns/${source.netns}`, process.execPath, ...args])).stdout
      : await source.lab.kubectl(["exec", "-n", source.namespace, source.pod, "--", "node", ...args]);
  const from = "netns" in source ? source.netns : source.pod;
  return (JSON.parse(output) as string[]).map((failure) => `${from} → ${failure}`);
}

export function inPod(lab: LabCluster, { metadata }: Pod): Source {
  return { lab, namespace: metadata?.namespace ?? "", pod: metadata?.name ?? "" };
}

/** The nodes' own networks. */
export function nodesOf({ cluster }: LabCluster): Source[] {
  return cluster.nodes.map(({ netns = "" }) => ({ netns }));
}

export async function probeAll(sources: readonly Source[], targets: readonly Target[]): Promise<string[]> {
  return (await Promise.all(sources.map((source) => probe(source, targets)))).flat();
}

/** Probes until all is answered: Services' endpoints are reflected, and each node's kube-proxy learns of them, a moment after the pods are Ready. */
export async function answered(what: string, sources: readonly Source[], targets: readonly Target[]): Promise<void> {
  await until(what, 60_000, async () => {
    const failures = await probeAll(sources, targets);
    if (failures.length > 0) throw new Error(failures.join("; "));
    return true;
  });
}
