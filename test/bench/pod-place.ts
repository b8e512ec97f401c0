import type { Container, Pod, PodSpec } from "kubernetes-types/core/v1";
import { NamespaceResource, PodResource } from "../../agent/runtime/index.js";
import { TEST_TOOLS_IMAGE } from "../clusters/index.js";
import type { LabCluster } from "../support/lab.js";
import { isReady, waitForPods } from "../support/workload.js";
import { timed } from "./pulumi-commands.js";

const NATIVE = "bench-native";
const LIMIT_MS = 180_000;

/** Where pods are made, and the node that the scheduler is to take; any when none is named. */
export interface Place {
  lab: LabCluster;
  namespace: string;
  node?: string;
}

/** The provider's own pods, and those that come to it through the virtual node. */
export interface Places {
  native: Place;
  virtual: Place;
}

/** Seconds to the last pod Ready, and to the last one gone. */
export interface Lifetime {
  ready: number;
  gone: number;
}

/** Does something in both places; what was made for it goes afterwards. */
export async function inPlaces<T>(places: Places, work: (places: Places) => Promise<T>): Promise<T> {
  const { client } = places.native.lab;
  await client.apply(NamespaceResource, { metadata: { name: places.native.namespace } }, { fieldManager: "bench" });
  try {
    return await work(places);
  } finally {
    await client.delete(NamespaceResource, { name: places.native.namespace });
  }
}

/** Both places of a peering: an offloaded namespace of the consumer, and a namespace of the provider's own. */
export function placesOf(consumer: LabCluster, provider: LabCluster, offloaded: string, virtualNode: string): Places {
  const [first, ...others] = provider.cluster.nodes;
  const node = others.length === 0 ? first?.name : undefined;
  return {
    native: { lab: provider, namespace: NATIVE, node },
    virtual: { lab: consumer, namespace: offloaded, node: virtualNode },
  };
}

/** Makes pods, waits until all are Ready, and takes them away again. */
export async function live(place: Place, names: readonly string[]): Promise<Lifetime> {
  const ready = await timed(() => create(place, names));
  const gone = await timed(() => remove(place, names));
  return { ready, gone };
}

/** Makes pods that do nothing, and waits until all are Ready. */
export async function create(place: Place, names: readonly string[]): Promise<void> {
  const container = { name: "sleep", image: TEST_TOOLS_IMAGE, command: ["sleep", "100000"] };
  await createPods(place, names, { containers: [container] }, isReady);
}

/** Makes pods of these containers, and waits until all are as they should be. */
export async function createPods(
  { lab, namespace, node }: Place,
  names: readonly string[],
  spec: Pick<PodSpec, "restartPolicy"> & { containers: Container[] },
  isDone: (pod: Pod) => boolean,
): Promise<void> {
  const pods = names.map((name) => podOf({ name, namespace }, node, spec));
  await Promise.all(pods.map((pod) => lab.client.create(PodResource, pod)));
  const areDone = (present: Pod[]): boolean => ours(present, names).filter(isDone).length === names.length;
  await waitForPods(lab, namespace, `${names.length} pods as they should be`, areDone, LIMIT_MS);
}

/** Deletes pods, and waits until all are gone. */
export async function remove({ lab, namespace }: Place, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => lab.client.delete(PodResource, { name, namespace })));
  const areGone = (pods: Pod[]): boolean => ours(pods, names).length === 0;
  await waitForPods(lab, namespace, `${names.length} pods gone`, areGone, LIMIT_MS);
}

function ours(pods: Pod[], names: readonly string[]): Pod[] {
  return pods.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
}

function podOf(metadata: { name: string; namespace: string }, node: string | undefined, spec: PodSpec): Pod {
  return {
    metadata,
    spec: {
      ...(node ? { nodeSelector: { "kubernetes.io/hostname": node } } : {}),
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      automountServiceAccountToken: false,
      ...spec,
    },
  };
}
