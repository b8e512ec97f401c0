import type { Node, Pod } from "kubernetes-types/core/v1";
import {
  inParallel,
  isConflict,
  isNotFound,
  KubeError,
  NodeResource,
  objectPath,
  PodResource,
  type DeleteOptions,
  type KubeClient,
} from "../../../runtime/index.js";
import { isDaemonPod } from "../daemon-pod.js";
import { PODS_AT_ONCE } from "../informers.js";

/** How a drain stands. Pods are named "namespace/name". */
export interface DrainProgress {
  remaining: string[];
  /** Pods that a PodDisruptionBudget keeps for now. */
  blocked: string[];
}

/**
 * How pods are made to leave: `evict` asks disruption budgets, `delete` does not, but leaves each pod its grace period, and `abandon` waits for nothing,
 * which is for those whose cluster is lost.
 */
export type DrainMode = "evict" | "delete" | "abandon";

/** How long after its end a pod that others hold is waited for, in a drain that is over its deadline. */
const HELD_MS = 60_000;

/** Keeps new pods away. */
export async function cordon(client: KubeClient, node: Node): Promise<void> {
  if (node.spec?.unschedulable) return;
  await client.mergePatch(NodeResource, { name: node.metadata?.name ?? "" }, { spec: { unschedulable: true } });
}

/**
 * Makes every pod of a node leave, all at once, and tells which are still there. DaemonSet and mirror pods are left alone: they belong to the
 * node (offloading specification, §2.6).
 */
export async function removePods(client: KubeClient, nodeName: string, mode: DrainMode): Promise<DrainProgress> {
  const way = { evict, delete: end, abandon }[mode];
  const { items } = await client.list(PodResource, { fieldSelector: `spec.nodeName=${nodeName}` });
  const leaving = items.filter((pod) => !isBoundToNode(pod) && !isLeftToOthers(pod, mode));
  const { remaining, blocked } = await askAll(leaving, (pod) => way(client, pod));
  return { remaining: remaining.map(nameOf), blocked: blocked.map(nameOf) };
}

/** Asks pods to leave by disruption budgets, all at once, and tells which are still there and which of them are held. */
export function evictAll(client: KubeClient, pods: readonly Pod[]): Promise<Remaining> {
  return askAll(pods, (pod) => evict(client, pod));
}

interface Remaining {
  remaining: Pod[];
  blocked: Pod[];
}

async function askAll(pods: readonly Pod[], way: (pod: Pod) => Promise<EvictionResult>): Promise<Remaining> {
  const results = await inParallel(pods, PODS_AT_ONCE, way);
  const having = (...wanted: EvictionResult[]): Pod[] =>
    pods.filter((_, index) => wanted.includes(results[index] ?? "gone"));
  return { remaining: having("leaving", "blocked"), blocked: having("blocked") };
}

/** `blocked`: by disruption budgets, for now. */
export type EvictionResult = "gone" | "leaving" | "blocked";

/** Asks Kubernetes to make a pod leave its node, as far as disruption budgets allow. */
export async function evict(client: KubeClient, pod: Pod): Promise<EvictionResult> {
  if (pod.metadata?.deletionTimestamp) return "leaving";
  const { name = "", namespace, uid } = pod.metadata ?? {};
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid } },
  };
  const subject = `the eviction of pod ${namespace}/${name}`;
  try {
    await client.request("POST", objectPath(PodResource, { name, namespace }, "eviction"), { body, subject });
    return "leaving";
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return "gone";
    // 429: a budget has nothing to spare. 500: several budgets select the pod, which Kubernetes does not resolve.
    if (error instanceof KubeError && (error.code === 429 || error.code === 500)) return "blocked";
    throw error;
  }
}

/** Deletes a pod, and takes it away once the time that it had to end is over. */
function end(client: KubeClient, pod: Pod): Promise<EvictionResult> {
  const { deletionTimestamp } = pod.metadata ?? {};
  if (deletionTimestamp === undefined) return remove(client, pod, {});
  return Date.now() < Date.parse(deletionTimestamp) ? Promise.resolve("leaving") : abandon(client, pod);
}

function abandon(client: KubeClient, pod: Pod): Promise<EvictionResult> {
  return remove(client, pod, { gracePeriodSeconds: 0 });
}

async function remove(client: KubeClient, pod: Pod, options: DeleteOptions): Promise<EvictionResult> {
  const { name = "", namespace, uid } = pod.metadata ?? {};
  await client.delete(PodResource, { name, namespace }, { uid, ...options });
  return "leaving";
}

function isBoundToNode(pod: Pod): boolean {
  const isMirror = pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  return isMirror || isDaemonPod(pod);
}

/**
 * Nothing but another's finalizer holds it: once the node is gone, Kubernetes tells that one that the pod has failed. The node's process, if it lives,
 * tells it sooner and with what became of the pod: it is given its time, unless the node is abandoned.
 */
function isLeftToOthers({ metadata }: Pod, mode: DrainMode): boolean {
  if (mode === "evict" || metadata?.deletionTimestamp === undefined || metadata.deletionGracePeriodSeconds !== 0)
    return false;
  return mode === "abandon" || Date.now() - Date.parse(metadata.deletionTimestamp) > HELD_MS;
}

function nameOf({ metadata }: Pod): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}
