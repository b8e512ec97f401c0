import type { Pod } from "kubernetes-types/core/v1";
import {
  Labels,
  LabelValues,
  Names,
  NamespaceOffloadingResource,
  type NamespaceOffloading,
} from "../../../agent/api/index.js";
import { isDeleting, NodeResource, PodResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { concurrently, waitFor, type Progress } from "../../waits/index.js";
import { MANAGER } from "../tenant-namespace/index.js";
import { evict } from "./evict.js";

const FINISHED = ["Succeeded", "Failed"];

/**
 * Moves the namespace's pods off virtual nodes before it is taken back: new ones stay local from now on, those out there are evicted, which lets
 * their controllers replace them and respects disruption budgets.
 */
export async function bringPodsHome(progress: Progress, consumer: Peer, namespace: string): Promise<void> {
  const { client } = consumer;
  const away = await podsAway(consumer, namespace, progress.signal);
  if (away.nodes.length === 0) return;
  await keepNewPodsLocal(progress, consumer, namespace);
  const { pods } = await podsAway(consumer, namespace, progress.signal);
  if (pods.length === 0) return;
  progress.status(`namespace ${namespace}: ${pods.length} pods leave the virtual nodes`);
  await concurrently(progress, async (scope) => {
    const asked = new Set<string>();
    await waitFor<Pod, void>(scope, {
      client,
      type: PodResource,
      namespace,
      what: `the pods of namespace ${namespace} to leave the virtual nodes`,
      judge: (all) => {
        const left = all.filter((pod) => isAway(pod, away.nodes));
        for (const pod of left) {
          const { uid = "" } = pod.metadata ?? {};
          if (!asked.has(uid) && !isDeleting(pod)) void scope.start((inner) => evict(inner, client, pod));
          asked.add(uid);
        }
        if (left.length === 0) return { done: undefined };
        const names = left.map(({ metadata }) => metadata?.name).join(", ");
        return { waiting: `${names} still there (a PodDisruptionBudget may forbid their eviction)` };
      },
    });
  });
}

async function podsAway(
  { client }: Peer,
  namespace: string,
  signal: AbortSignal,
): Promise<{ nodes: string[]; pods: Pod[] }> {
  const [nodes, pods] = await Promise.all([
    client.list(NodeResource, { labelSelector: { [Labels.type]: LabelValues.virtualNodeType }, signal }),
    client.list(PodResource, { namespace, signal }),
  ]);
  const names = nodes.items.map(({ metadata }) => metadata?.name ?? "");
  return { nodes: names, pods: pods.items.filter((pod) => isAway(pod, names)) };
}

/** Pods of DaemonSets would come back at once; the virtual node does not run them anyway. */
function isAway({ metadata, spec, status }: Pod, nodes: readonly string[]): boolean {
  if (!spec?.nodeName || !nodes.includes(spec.nodeName)) return false;
  const ofDaemonSet = metadata?.ownerReferences?.some(({ kind }) => kind === "DaemonSet") ?? false;
  return !ofDaemonSet && !FINISHED.includes(status?.phase ?? "");
}

async function keepNewPodsLocal(progress: Progress, { client }: Peer, namespace: string): Promise<void> {
  const id = { name: Names.namespaceOffloading, namespace };
  const patch = { spec: { podOffloadingStrategy: "Local" } };
  const patched = await client.mergePatch(NamespaceOffloadingResource, id, patch, {
    fieldManager: MANAGER,
    signal: progress.signal,
  });
  await waitFor<NamespaceOffloading, void>(progress, {
    client,
    type: NamespaceOffloadingResource,
    ...id,
    what: `namespace ${namespace} to keep new pods local`,
    judge: ([current]) => {
      const observed = current?.status?.observedGeneration ?? 0;
      if (!current || isDeleting(current) || observed >= (patched.metadata.generation ?? 0)) return { done: undefined };
      return { waiting: "the agent has not taken it up yet" };
    },
  });
}
