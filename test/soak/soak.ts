import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "kubernetes-types/core/v1";
import { KubeError, PodResource, messageOf, type KubeClient } from "../../agent/runtime/index.js";
import { until } from "../clusters/support/wait.js";
import { isReady } from "../support/workload.js";
import { lastWords } from "./ended-processes.js";
import { circumstances, disagreements, type Shared } from "./agreement.js";
import { CHANGES, deploySteady } from "./changes.js";
import { DuplicateWatch } from "./duplicate-watch.js";
import type { Fault, SoakCluster } from "./faults.js";
import { faultsBetween, revive } from "./faults.js";
import { MemoryWatch, type Gone, type Growth } from "./memory-watch.js";
import { Random } from "./random.js";

const MAX_CHANGE_PAUSE_MS = 1_500;
const MAX_FAULT_PAUSE_MS = 3_000;
/** Shorter than what makes Kubernetes give up a node's pods. */
const MAX_FAULT_MS = 4_000;
/** The last part of a long soak, in which no process ends, so that their memory can be compared with itself. */
const LASTING_MS = 7 * 60_000;
const SAMPLE_MS = 5_000;
/**
 * What the last fault that ends processes has ended may still be on its way out. A kubelet whose API server has ended again and again looks for it only every
 * thirty to sixty seconds: until then it starts what was killed in pods that are deleted already, and nothing of their successors. Pods then have thirty seconds.
 */
const PARTING_MS = 100_000;
/**
 * While the agent's webhook is away nobody makes pods of offloaded namespaces. Kubernetes' own controllers then wait twice as long after each try, and kubelets before
 * each new start of what was killed repeatedly: what has failed for two minutes may be tried again after almost three.
 */
const SETTLE_MS = 300_000;

export interface SoakOptions {
  consumer: SoakCluster;
  provider: SoakCluster;
  /** Offloaded to the provider alone, which has volumes to give, with all pods. */
  namespace: string;
  remoteNamespace: string;
  virtualNode: string;
  milliseconds: number;
  seed: number;
  /** Told of everything that is done. */
  log: (line: string) => void;
}

export interface SoakResult {
  changes: number;
  faults: string[];
  /** Of each kind of finding; all empty when the soak was passed. */
  disagreements: string[];
  duplicates: string[];
  moved: string[];
  /** Processes that ended by themselves. */
  ended: string[];
  growths: Growth[];
}

/** Random changes by a user, and random faults, at the same time; then everything is put right, and both clusters are compared object by object. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { consumer, provider, namespace, remoteNamespace, virtualNode } = options;
  const { client } = consumer.lab;
  const shared: Shared = { consumer: client, namespace, virtualNode, provider: provider.lab.client, remoteNamespace };
  const duplicates = new DuplicateWatch([
    { client, namespace, virtualNodes: [virtualNode] },
    { client: provider.lab.client, namespace: remoteNamespace },
  ]);
  const memory = new MemoryWatch([consumer.lab, provider.lab]);
  await deploySteady(client, namespace);
  await agreed(shared, "before anything happens");
  const before = await steadyPods(client, namespace);
  duplicates.start();
  const end = Date.now() + options.milliseconds;
  const random = new Random(options.seed);
  const [changes, faults, ended] = await Promise.all([
    change(client, new Random(random.integer(0, 2 ** 31)), end, options),
    goWrong(faultsBetween(consumer, provider), new Random(random.integer(0, 2 ** 31)), end, options),
    watchProcesses(memory, end, lastingFrom(end, options.milliseconds) + PARTING_MS, options.log),
  ]);
  options.log("the end: waiting until all has settled");
  for (const cluster of [consumer, provider]) await revive(cluster);
  const left = await agreed(shared, "after all has been put right").then(
    () => [],
    (error: unknown) => [messageOf(error)],
  );
  await memory.sample();
  await duplicates.stop();
  const moved = differences(before, await steadyPods(client, namespace));
  return {
    changes,
    faults,
    disagreements: left,
    duplicates: duplicates.found,
    moved,
    ended,
    growths: memory.growths(),
  };
}

async function change(client: KubeClient, random: Random, end: number, options: SoakOptions): Promise<number> {
  let count = 0;
  while (Date.now() < end) {
    const chosen = random.pick(CHANGES);
    try {
      options.log(await chosen(client, options.namespace, random));
      count += 1;
    } catch (error) {
      // The consumer's own API server is among what fails; a user would try again.
      if (!(error instanceof KubeError)) throw error;
      options.log(`refused: ${error.message}`);
    }
    await delay(random.integer(50, MAX_CHANGE_PAUSE_MS));
  }
  return count;
}

/** One fault after the other, each kind once before any is repeated. */
async function goWrong(faults: Fault[], random: Random, end: number, options: SoakOptions): Promise<string[]> {
  const { log, milliseconds: duration } = options;
  const lasting = lastingFrom(end, duration);
  const happened: string[] = [];
  let order: Fault[] = [];
  for (;;) {
    const milliseconds = random.integer(1_000, MAX_FAULT_MS);
    if (Date.now() + milliseconds >= end) return happened;
    if (order.length === 0) order = random.shuffled(faults);
    const fault = order.pop()!;
    if (fault.endsProcesses && Date.now() > lasting) continue;
    log(`── ${fault.name}, ${milliseconds} ms`);
    await fault.happen(milliseconds);
    for (const cluster of [options.consumer, options.provider]) await revive(cluster);
    log(`── ${fault.name}: put right`);
    happened.push(fault.name);
    await delay(random.integer(0, MAX_FAULT_PAUSE_MS));
  }
}

/** From when on no process is ended; never in a short soak. */
function lastingFrom(end: number, duration: number): number {
  return duration > 2 * LASTING_MS - 60_000 ? end - LASTING_MS : Infinity;
}

/** Tells of every process that has ended by itself, and returns those that did after `lasting`: until then a fault may have been the reason. */
async function watchProcesses(
  memory: MemoryWatch,
  end: number,
  lasting: number,
  log: (line: string) => void,
): Promise<string[]> {
  const ended: Promise<string[]>[] = [];
  const tell = async (gone: Gone, isLasting: boolean): Promise<string[]> => {
    const words = await lastWords(gone);
    const line = `${gone.name} ended by itself: ${words ?? "its pod has gone as well"}`;
    // With their pods those go that a fault has killed.
    if (words !== undefined) log(line);
    return isLasting ? [line] : [];
  };
  while (Date.now() < end) {
    const isLasting = Date.now() > lasting;
    // Probes run programs of the agent, too, for a moment.
    const gone = (await memory.sample()).filter(({ firstAt, lastAt }) => lastAt - firstAt > 3 * SAMPLE_MS);
    ended.push(...gone.map((one) => tell(one, isLasting)));
    await delay(Math.min(SAMPLE_MS, Math.max(1, end - Date.now())));
  }
  return (await Promise.all(ended)).flat();
}

/** Waits until the clusters agree, for at most five minutes. @throws Error with what they do not agree on */
async function agreed(shared: Shared, when: string): Promise<void> {
  let last: string[] = [];
  try {
    await until(
      "agreement",
      SETTLE_MS,
      async () => {
        last = await disagreements(shared);
        return last.length === 0 ? true : undefined;
      },
      500,
    );
  } catch (error) {
    const lines = [...last, ...(await circumstances(shared).catch((failure: unknown) => [messageOf(failure)]))];
    throw new Error(`no agreement ${when}: ${lines.join("; ") || messageOf(error)}`, { cause: error });
  }
}

/** The pods that nobody touches, each with what must stay the same. */
async function steadyPods(client: KubeClient, namespace: string): Promise<Map<string, string>> {
  const { items } = await client.list(PodResource, { namespace, labelSelector: "soak=steady" });
  const identity = ({ metadata, spec, status }: Pod): string =>
    JSON.stringify([
      metadata?.uid,
      spec?.nodeName,
      status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
    ]);
  return new Map(items.filter(isReady).map((pod) => [pod.metadata?.name ?? "", identity(pod)]));
}

function differences(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...before].flatMap(([name, identity]) =>
    after.get(name) === identity ? [] : [`${name} was ${identity} and is ${after.get(name) ?? "gone"}`],
  );
}
