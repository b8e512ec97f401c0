import type { Pod } from "kubernetes-types/core/v1";
import { Informer, NamespaceResource, PodResource } from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE } from "../clusters/index.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, waitForPods } from "../support/workload.js";
import { timed } from "./pulumi-commands.js";
import { atMost, figure, median, type Result } from "./result.js";

const NATIVE = "bench-native";
const ROUNDS = 7;
const MANY = 40;
const LIMIT_MS = 180_000;

/** Where pods are made, and the node that the scheduler is to take. */
interface Place {
  lab: LabCluster;
  namespace: string;
  node: string;
}

/** Seconds to the last pod Ready, and to the last one gone. */
interface Lifetime {
  ready: number;
  gone: number;
}

/**
 * Pods through the virtual node against the same pods on the provider itself: same image, same node, one run. All are placed by their cluster's
 * scheduler, as users' pods are: those of the consumer by two, one after the other.
 */
export async function benchPods(
  consumer: LabCluster,
  provider: LabCluster,
  offloaded: string,
  virtualNode: string,
): Promise<Result[]> {
  const native: Place = { lab: provider, namespace: NATIVE, node: provider.cluster.nodes[0]?.name ?? "" };
  const virtual: Place = { lab: consumer, namespace: offloaded, node: virtualNode };
  await provider.client.apply(NamespaceResource, { metadata: { name: NATIVE } }, { fieldManager: "bench" });
  try {
    return [
      ...(await benchOne(native, virtual)),
      ...(await benchMany(native, virtual)),
      ...(await benchExec(native, virtual)),
    ];
  } finally {
    await provider.client.delete(NamespaceResource, { name: NATIVE });
  }
}

async function benchOne(native: Place, virtual: Place): Promise<Result[]> {
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

async function benchMany(native: Place, virtual: Place): Promise<Result[]> {
  const names = Array.from({ length: MANY }, (_, i) => `many-${i}`);
  const before = await live(native, names);
  const after = await live(virtual, names);
  return [
    figure(`${MANY} pods to Ready, on the provider itself`, before.ready, "s"),
    figure(`${MANY} pods to Ready, through the virtual node`, after.ready, "s"),
    atMost(`${MANY} pods, virtual against native`, after.ready / before.ready, "x", 1.2),
    figure(`${MANY} pods deleted, on the provider itself`, before.gone, "s"),
    figure(`${MANY} pods deleted, through the virtual node`, after.gone, "s"),
    atMost(`deletion of ${MANY}, virtual against native`, after.gone / before.gone, "x", 1.2),
  ];
}

/** From kubectl's start to its end. */
async function benchExec(native: Place, virtual: Place): Promise<Result[]> {
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

async function live(place: Place, names: readonly string[]): Promise<Lifetime> {
  const ready = await timed(() => create(place, names));
  const gone = await timed(() => remove(place, names));
  return { ready, gone };
}

async function create({ lab, namespace, node }: Place, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => lab.client.create(PodResource, benchPod(namespace, name, node))));
  const areReady = (pods: Pod[]): boolean => ours(pods, names).filter(isReady).length === names.length;
  await waitForPods(lab, namespace, `${names.length} pods Ready`, areReady, LIMIT_MS);
}

async function remove({ lab, namespace }: Place, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => lab.client.delete(PodResource, { name, namespace })));
  const areGone = (pods: Pod[]): boolean => ours(pods, names).length === 0;
  await waitForPods(lab, namespace, `${names.length} pods gone`, areGone, LIMIT_MS);
}

function ours(pods: Pod[], names: readonly string[]): Pod[] {
  return pods.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
}

function benchPod(namespace: string, name: string, node: string): Pod {
  return {
    metadata: { name, namespace },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      automountServiceAccountToken: false,
      containers: [{ name: "sleep", image: TEST_TOOLS_IMAGE, command: ["sleep", "100000"] }],
    },
  };
}
