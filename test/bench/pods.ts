import type { Pod } from "kubernetes-types/core/v1";
import { Informer, PodResource } from "../../agent/runtime/index.js";
import type { LabCluster } from "../support/lab.js";
import { isReady } from "../support/workload.js";
import { create, live, remove, type Lifetime, type Place, type Places } from "./pod-place.js";
import { middleTime, processorFigures, withProcessorTime, type ProcessorTime } from "./processor-time.js";
import { timed } from "./pulumi-commands.js";
import { atMost, figure, median, type Result } from "./result.js";

const ROUNDS = 7;
const MANY = 40;
const MANY_ROUNDS = 3;
const MANY_MORE = 200;

/**
 * Pods through the virtual node against the same pods on the provider itself: same image, same node, one run. All are placed by their cluster's
 * scheduler, as users' pods are: those of the consumer by two, one after the other.
 */
export async function benchPods(places: Places): Promise<Result[]> {
  return [...(await benchOne(places)), ...(await benchMany(places, MANY, MANY_ROUNDS)), ...(await benchExec(places))];
}

/** So many pods at once that the provider needs two nodes for them. */
export function benchManyMorePods(places: Places): Promise<Result[]> {
  return benchMany(places, MANY_MORE, 1);
}

async function benchOne({ native, virtual }: Places): Promise<Result[]> {
  const there = new Informer(native.lab.client, PodResource).start();
  const here = new Informer(virtual.lab.client, PodResource, { namespace: virtual.namespace }).start();
  const lags: number[] = [];
  const readyAt = new Map<string, number>();
  there.onEvent(({ object }) => remember(readyAt, object));
  here.onEvent(({ object }) => {
    const name = object.metadata?.name ?? "";
    const at = readyAt.get(name);
    if (at === undefined || !isReady(object)) return;
    readyAt.delete(name);
    lags.push(performance.now() - at);
  });
  await Promise.all([there.waitForSync(), here.waitForSync()]);
  const seconds = { native: [] as number[], virtual: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    seconds.native.push((await live(native, [`native-${round}`])).ready);
    seconds.virtual.push((await live(virtual, [`virtual-${round}`])).ready);
  }
  await Promise.all([there.stop(), here.stop()]);
  const [before, after] = [median(seconds.native), median(seconds.virtual)];
  return [
    figure("one pod to Ready, on the provider itself", before, "s"),
    atMost("one pod to Ready, through the virtual node", after, "s", before + 0.25),
    atMost("Ready at the provider to Ready at the consumer", median(lags), "ms", 100),
  ];
}

/** When a pod was first seen Ready at the provider. */
function remember(readyAt: Map<string, number>, pod: Pod): void {
  const name = pod.metadata?.name ?? "";
  if (name.startsWith("virtual-") && isReady(pod) && !readyAt.has(name)) readyAt.set(name, performance.now());
}

/** Turn by turn; of each figure the middle one counts. */
async function benchMany({ native, virtual }: Places, count: number, rounds: number): Promise<Result[]> {
  const names = Array.from({ length: count }, (_, i) => `many-${i}`);
  const lives = { native: [] as Life[], virtual: [] as Life[] };
  for (let round = 0; round < rounds; round++) {
    console.log(`pods: ${count} on the provider itself`);
    lives.native.push(await lifeOf(native, virtual.lab, names));
    console.log(`pods: ${count} through the virtual node`);
    lives.virtual.push(await lifeOf(virtual, virtual.lab, names));
  }
  const [before, after] = [middleLife(lives.native), middleLife(lives.virtual)];
  return [
    figure(`${count} pods to Ready, on the provider itself`, before.ready, "s"),
    figure(`${count} pods to Ready, through the virtual node`, after.ready, "s"),
    atMost(`${count} pods, virtual against native`, after.ready / before.ready, "x", 1.2),
    figure(`${count} pods deleted, on the provider itself`, before.gone, "s"),
    figure(`${count} pods deleted, through the virtual node`, after.gone, "s"),
    atMost(`deletion of ${count}, virtual against native`, after.gone / before.gone, "x", 1.2),
    ...processorFigures(`${count} pods made and deleted`, before.time, after.time),
  ];
}

interface Life extends Lifetime {
  time: ProcessorTime;
}

async function lifeOf(place: Place, consumer: LabCluster, names: readonly string[]): Promise<Life> {
  const { outcome, time } = await withProcessorTime(consumer, () => live(place, names));
  return { ...outcome, time };
}

function middleLife(lives: readonly Life[]): Life {
  return {
    ready: median(lives.map(({ ready }) => ready)),
    gone: median(lives.map(({ gone }) => gone)),
    time: middleTime(lives.map(({ time }) => time)),
  };
}

/** From kubectl's start to its end. */
async function benchExec({ native, virtual }: Places): Promise<Result[]> {
  const places = [native, virtual];
  await Promise.all(places.map((place) => create(place, ["exec"])));
  const milliseconds = { native: [] as number[], virtual: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    milliseconds.native.push(1000 * (await timed(() => execIn(native))));
    milliseconds.virtual.push(1000 * (await timed(() => execIn(virtual))));
  }
  await Promise.all(places.map((place) => remove(place, ["exec"])));
  const before = median(milliseconds.native);
  return [
    figure("kubectl exec, on the provider itself", before, "ms"),
    atMost("kubectl exec, through the virtual node", median(milliseconds.virtual), "ms", before + 30),
  ];
}

function execIn({ lab, namespace }: Place): Promise<string> {
  return lab.kubectl(["exec", "-n", namespace, "exec", "--", "true"]);
}
