import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { buildAgentBundle } from "../../scripts/build.js";
import { ForeignClusterResource, type ForeignCluster } from "../../agent/api/index.js";
import { findCondition } from "../../agent/runtime/index.js";
import { startApiServer, type ApiServer } from "../integration/support/api-server.js";
import { ControllerProcess } from "../integration/support/controller-process.js";
import { waitFor } from "../support/wait.js";
import { benchNegotiation } from "./negotiation.js";
import { processorSeconds, proportionalMiB } from "./pod-processes.js";
import { timed } from "./pulumi-commands.js";
import { atMost, figure, type Result } from "./result.js";
import { SimulatedProviders } from "./simulated-providers.js";

/** Peerings of one consumer: the controller is measured at each of these numbers. */
const COUNTS = [1, 10, 20, 50, 100] as const;
const IDLE_SECONDS = 60;
const IDLE_AT = 20;
/** For so long after a burst V8 collects what that has left: it is no rest yet. */
const COLLECTING_SECONDS = 60;
/** After the last change: what was only needed for it is let go of. */
const SETTLE_SECONDS = 10;
const READY_DEADLINE_MS = 300_000;

interface Measurement {
  count: number;
  mebibytes: number;
  /** Since the count before. */
  seconds: number;
  processorSeconds: number;
}

/**
 * What peerings cost: between two clusters whose controllers and virtual node are real, and on one consumer with many providers, which are
 * simulated on one API server. No network, no kubelet: only API servers and the agent's own processes run.
 */
export async function benchPeerings(): Promise<Result[]> {
  await buildAgentBundle();
  const folder = await mkdtemp(path.join(os.tmpdir(), "liqo-bench-peerings-"));
  try {
    return [...(await benchNegotiation(folder)), ...(await benchMany(folder))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function benchMany(folder: string): Promise<Result[]> {
  const [consumer, provider] = await Promise.all([
    startApiServer({ name: "consumer" }),
    startApiServer({ name: "providers" }),
  ]);
  const controller = await ControllerProcess.install(consumer, { clusterId: "consumer", folder });
  const providers = new SimulatedProviders(consumer, provider);
  try {
    await providers.start();
    const measurements: Measurement[] = [];
    const idle: Result[] = [];
    for (const count of COUNTS) {
      measurements.push(await grow(consumer, controller, providers, measurements.at(-1)?.count ?? 0, count));
      if (count === IDLE_AT) idle.push(...(await atIdle(consumer, provider, controller)));
    }
    return [...growth(measurements), ...idle];
  } finally {
    await providers.stop();
    await controller.stop();
    await Promise.all([consumer.stop(), provider.stop()]);
  }
}

/** Peers with more providers, all at once, and looks at what the controller has become. */
async function grow(
  { client }: ApiServer,
  { pid }: ControllerProcess,
  providers: SimulatedProviders,
  from: number,
  to: number,
): Promise<Measurement> {
  const before = await processorSeconds([pid]);
  const seconds = await timed(async () => {
    const added = Array.from({ length: to - from }, (_, index) => `provider-${from + index + 1}`);
    await Promise.all(added.map((id) => providers.peer(id)));
    const what = `${to} peerings ready`;
    const options = { timeoutMs: READY_DEADLINE_MS, what, describe: stateOf };
    await waitFor(client, ForeignClusterResource, options, (all) => all.filter(isReady).length === to || undefined);
  });
  const spent = (await processorSeconds([pid])) - before;
  await new Promise((resolve) => setTimeout(resolve, SETTLE_SECONDS * 1000));
  console.log(`  ${to} peerings: ${seconds.toFixed(1)} s`);
  return { count: to, seconds, processorSeconds: spent, mebibytes: await proportionalMiB([pid]) };
}

function isReady({ status }: ForeignCluster): boolean {
  const has = (type: "APIServerStatus" | "OffloadingNodeStatus", wanted: string): boolean =>
    findCondition([...(status?.conditions ?? []), ...(status?.modules.offloading.conditions ?? [])], type)?.status ===
    wanted;
  return has("APIServerStatus", "Established") && has("OffloadingNodeStatus", "Ready");
}

function stateOf(all: ForeignCluster[]): string {
  return `${all.filter(isReady).length} ready of ${all.length}`;
}

function growth(measurements: readonly Measurement[]): Result[] {
  const [first] = measurements;
  const at = (count: number): Measurement | undefined => measurements.find((one) => one.count === count);
  const perPeering = (from: number, to: number): number =>
    ((at(to)?.mebibytes ?? NaN) - (at(from)?.mebibytes ?? NaN)) / (to - from);
  const costOfOne = (count: number): number => {
    const index = measurements.findIndex((one) => one.count === count);
    const added = count - (measurements[index - 1]?.count ?? 0);
    return ((measurements[index]?.processorSeconds ?? NaN) / added) * 1000;
  };
  return [
    atMost("memory of the controller, 1 peering", first?.mebibytes ?? NaN, "MiB", 80),
    ...measurements
      .slice(1)
      .map(({ count, mebibytes }) => figure(`memory of the controller, ${count} peerings`, mebibytes, "MiB")),
    atMost("memory per further peering, of 100", perPeering(1, 100), "MiB", 1.5),
    ...measurements.map(({ count, seconds }, index) =>
      figure(`${count - (measurements[index - 1]?.count ?? 0)} more peerings to ready, ${count} in all`, seconds, "s"),
    ),
    figure("processor time for a peering, of the first 10", costOfOne(10), "ms"),
    figure("processor time for a peering, of the last 50", costOfOne(100), "ms"),
    atMost("growth of that, from 10 to 100 peerings", costOfOne(100) / costOfOne(10), "x", 1.25),
    atMost("growth of the memory per peering, from 20 to 100", perPeering(50, 100) / perPeering(20, 50), "x", 1.25),
  ];
}

async function atIdle(consumer: ApiServer, provider: ApiServer, { pid }: ControllerProcess): Promise<Result[]> {
  const servers = [consumer, provider];
  await new Promise((resolve) => setTimeout(resolve, COLLECTING_SECONDS * 1000));
  const [before, requestsBefore] = [await processorSeconds([pid]), await Promise.all(servers.map(requestsOf))];
  await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
  const percent = (((await processorSeconds([pid])) - before) / IDLE_SECONDS) * 100;
  const requestsAfter = await Promise.all(servers.map(requestsOf));
  const perMinute = (index: number): number => total(requestsAfter[index]) - total(requestsBefore[index]);
  for (const [index, server] of ["consumer's API server", "providers' API server"].entries()) {
    const kinds = [...(requestsAfter[index] ?? [])].map(
      ([kind, count]) => [kind, count - (requestsBefore[index]?.get(kind) ?? 0)] as const,
    );
    const text = kinds.filter(([, count]) => count > 0).map(([kind, count]) => `${kind} ${count}`);
    console.log(`  requests to the ${server} in a minute: ${text.join(", ") || "none"}`);
  }
  return [
    atMost(`processor time of the controller at idle, ${IDLE_AT} peerings`, percent, "% of a core", 1),
    figure(`requests to the consumer's API server at idle, ${IDLE_AT} peerings`, perMinute(0), "per minute"),
    figure(`requests to the providers' API servers at idle, ${IDLE_AT} peerings, together`, perMinute(1), "per minute"),
  ];
}

function total(counts: Map<string, number> = new Map()): number {
  return [...counts.values()].reduce((all, one) => all + one, 0);
}

/** What an API server has answered, by verb and kind; its own requests to itself are left out. */
async function requestsOf({ client }: ApiServer): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await client.text("/metrics")).split("\n")) {
    const [, labels = "", value = "0"] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? [];
    const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const kind = `${label("verb")} ${label("resource")}`;
    if (labels) counts.set(kind, (counts.get(kind) ?? 0) + Number(value));
  }
  return counts;
}
