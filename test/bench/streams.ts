import { ensureTool, TEST_TOOLS_IMAGE } from "../clusters/index.js";
import { exec } from "../support/exec.js";
import { throughPortForward } from "../support/port-forward.js";
import { isReady } from "../support/workload.js";
import { createPods, remove, type Place, type Places } from "./pod-place.js";
import { middleTime, processorFigures, withProcessorTime, type ProcessorTime } from "./processor-time.js";
import { timed } from "./pulumi-commands.js";
import { atLeast, figure, median, type Result } from "./result.js";

const ROUNDS = 3;
const MEBIBYTE = 2 ** 20;
const SERVER = "server";
const PORT = 8080;
const FILE = "/tmp/www/file";
const FILE_MIB = 64;
const TALKER = "talker";
/** `kubectl logs` follows so many containers at once by default. */
const TALKERS = 5;
/** With what the container runtime adds to each line just less than makes kubelets begin another file. */
const LOG_BYTES = 8_000_000;
const LINE = "x".repeat(199);
const STREAM_MS = 120_000;

/** How much passes through kubectl's long streams in a second, through the virtual node against the provider itself. */
export async function benchStreams(places: Places): Promise<Result[]> {
  return [
    ...(await compare(places, "port-forward", { prepare: serve, stream: download, pod: SERVER })),
    ...(await compare(places, "logs -f", { prepare: talk, stream: follow, pod: TALKER })),
  ];
}

interface Stream {
  pod: string;
  prepare: (place: Place) => Promise<void>;
  /** Returns how many bytes have come. */
  stream: (place: Place) => Promise<number>;
}

/** Turn by turn, so that whatever else the machine does meets both. */
async function compare({ native, virtual }: Places, what: string, stream: Stream): Promise<Result[]> {
  await Promise.all([native, virtual].map((place) => stream.prepare(place)));
  const rates = { native: [] as number[], virtual: [] as number[] };
  const times = { native: [] as ProcessorTime[], virtual: [] as ProcessorTime[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, place] of [
      ["native", native],
      ["virtual", virtual],
    ] as const) {
      const { outcome, time } = await withProcessorTime(virtual.lab, () => rateOf(stream, place));
      rates[name].push(outcome);
      times[name].push(time);
    }
  }
  await Promise.all([native, virtual].map((place) => remove(place, [stream.pod])));
  const [before, after] = [median(rates.native), median(rates.virtual)];
  return [
    figure(`kubectl ${what}, on the provider itself`, before, "MiB/s"),
    figure(`kubectl ${what}, through the virtual node`, after, "MiB/s"),
    atLeast(`kubectl ${what}, virtual against native`, after / before, "x", 0.8),
    ...processorFigures(`kubectl ${what}`, middleTime(times.native), middleTime(times.virtual)),
  ];
}

async function rateOf({ stream }: Stream, place: Place): Promise<number> {
  let bytes = 0;
  const seconds = await timed(async () => (bytes = await stream(place)));
  return bytes / MEBIBYTE / seconds;
}

function serve(place: Place): Promise<void> {
  const script = `mkdir -p /tmp/www; truncate -s ${FILE_MIB}M ${FILE}; exec httpd -f -p ${PORT} -h /tmp/www`;
  const readinessProbe = { tcpSocket: { port: PORT }, periodSeconds: 1 };
  const container = { name: "main", image: TEST_TOOLS_IMAGE, command: ["sh", "-c", script] };
  return createPods(place, [SERVER], { containers: [{ ...container, readinessProbe }] }, isReady);
}

function download({ lab, namespace }: Place): Promise<number> {
  const pod = { namespace, name: SERVER, port: PORT };
  return throughPortForward(lab, pod, async (port) => {
    const signal = AbortSignal.timeout(STREAM_MS);
    const { body } = await fetch(`http://127.0.0.1:${port}/file`, { signal });
    let bytes = 0;
    for await (const chunk of body ?? []) bytes += (chunk as Uint8Array).length;
    return complete("port-forward", bytes, FILE_MIB * MEBIBYTE);
  });
}

/** Containers that say much and end, so that who follows them comes to an end, too. */
function talk(place: Place): Promise<void> {
  const command = ["sh", "-c", `yes ${LINE} | head -c ${LOG_BYTES}`];
  const containers = Array.from({ length: TALKERS }, (_, i) => ({ name: `c${i}`, image: TEST_TOOLS_IMAGE, command }));
  return createPods(place, [TALKER], { restartPolicy: "Never", containers }, ({ status }) => {
    if (status?.phase === "Failed") throw new Error(`pod ${TALKER} has failed: ${status.message ?? "no message"}`);
    return status?.phase === "Succeeded";
  });
}

async function follow({ lab: { cluster }, namespace }: Place): Promise<number> {
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const command = [...access, "logs", "-f", "-n", namespace, TALKER, "--all-containers"];
  // Counted by a program that does nothing else.
  const pipe = ["-o", "pipefail", "-c", '"$0" "$@" | wc -c', await ensureTool("kubectl"), ...command];
  const { stdout } = await exec("bash", pipe, { timeoutMs: STREAM_MS });
  return complete("logs", Number(stdout), TALKERS * LOG_BYTES);
}

function complete(what: string, bytes: number, expected: number): number {
  if (bytes !== expected) throw new Error(`kubectl ${what}: ${bytes} bytes have come, not ${expected}`);
  return bytes;
}
