import type { Pod } from "kubernetes-types/core/v1";
import { Labels, VirtualNodeResource, type NamespaceOffloading } from "../../../api/index.js";
import { findCondition, hasController, listed } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { isDaemonPod } from "../daemon-pod.js";
import { hasEnded } from "../has-ended.js";
import { offloadedPods, virtualClusterNodes } from "../informers.js";
import { DRAIN_DEADLINE_MS, NAMED_PODS } from "../virtual-node/drain-condition.js";
import { evictAll } from "../virtual-node/drain.js";

/** Has the pods of a namespace leave a cluster before the namespace does; returns why it must stay meanwhile, or undefined when it need not. */
export type Departure = (offloading: NamespaceOffloading, clusterID: string) => Promise<string | undefined>;

/**
 * Pods that a controller makes anew are evicted, as disruption budgets allow, so that others run before they end; all others end with the remote
 * namespace. After a drain's deadline nobody is waited for.
 */
export function podsAway(context: ControllerContext): Departure {
  const { client } = context;
  const nodes = virtualClusterNodes(context);
  const virtualNodes = context.informers.for(VirtualNodeResource);
  const pods = offloadedPods(context);

  /** Also where the Node has gone while its virtual node is there. */
  function isThere(pod: Pod, clusterID: string): boolean {
    const nodeName = pod.spec?.nodeName ?? "";
    const labels = nodes.get(nodeName)?.metadata?.labels;
    if (labels) return labels[Labels.remoteClusterID] === clusterID;
    return virtualNodes.list().some(({ metadata, spec }) => metadata.name === nodeName && spec.clusterID === clusterID);
  }

  return async (offloading, clusterID) => {
    const deadline = deadlineOf(offloading, clusterID);
    if (Date.now() >= deadline) return undefined;
    const away = pods
      .inNamespace(offloading.metadata.namespace ?? "")
      .filter((pod) => isThere(pod, clusterID) && !hasEnded(pod) && hasController(pod) && !isDaemonPod(pod));
    const { remaining, blocked } = await evictAll(client, away);
    if (remaining.length === 0) return undefined;
    const held = blocked.length > 0 ? `; held by a PodDisruptionBudget: ${named(blocked)}` : "";
    const until = new Date(deadline).toISOString();
    return `${remaining.length} pods are leaving the cluster: ${named(remaining)}${held}; those left at ${until} end with the remote namespace`;
  };
}

/** In milliseconds since the epoch. It counts from when the cluster was first not wanted any more. */
function deadlineOf({ status }: NamespaceOffloading, clusterID: string): number {
  const required = findCondition(status?.remoteNamespacesConditions?.[clusterID], "OffloadingRequired");
  const since = required?.status === "False" ? Date.parse(required.lastTransitionTime ?? "") : NaN;
  return (Number.isNaN(since) ? Date.now() : since) + DRAIN_DEADLINE_MS;
}

function named(pods: readonly Pod[]): string {
  return listed(pods.map(({ metadata }) => metadata?.name ?? "").sort(), NAMED_PODS);
}
