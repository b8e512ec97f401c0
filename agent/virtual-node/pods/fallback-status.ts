import type { Pod, PodStatus } from "kubernetes-types/core/v1";
import { PodReasons } from "../../api/index.js";
import { kubeTime, withCondition } from "../../runtime/index.js";
import { notReadyStatus } from "./pod-status.js";
import { endedContainers } from "./terminated-containers.js";

/** Status of a pod whose namespace is not offloaded (offloading specification, §6.2): one that never started waits, any other has failed. */
export function notOffloadedStatus(pod: Pod): PodStatus {
  const { status } = pod;
  const started = (status?.phase ?? "Pending") !== "Pending" || (status?.containerStatuses?.length ?? 0) > 0;
  if (!started) {
    const message = "the pod's namespace is not offloaded to the cluster of this virtual node";
    return { ...status, phase: "Pending", reason: PodReasons.backOff, message };
  }
  const message = "the pod's namespace is not offloaded any more to the cluster of this virtual node";
  return endedStatus(pod, { phase: "Failed", reason: PodReasons.aborted, message });
}

/** Status of a pod that the provider does not take, or not again: it waits, and says why. The first status from the provider replaces it. */
export function refusedStatus(pod: Pod, message: string): PodStatus {
  const phase = pod.status?.phase ?? "Pending";
  const reason = PodReasons.refused;
  const conditions = withCondition(pod.status?.conditions, { type: "Ready", status: "False", reason, message });
  return { ...pod.status, conditions, phase, reason, message };
}

/** The pod's last status, ended. */
export function endedStatus(
  { status }: Pod,
  { phase = "Failed", reason, message }: { phase?: string; reason: string; message: string },
): PodStatus {
  const exitCode = phase === "Succeeded" ? 0 : 1;
  return {
    ...status,
    phase,
    reason,
    message,
    conditions: (status?.conditions ?? []).map((condition) =>
      condition.status === "True" && condition.type !== "DisruptionTarget"
        ? { ...condition, status: "False", reason, lastTransitionTime: kubeTime() }
        : condition,
    ),
    containerStatuses: endedContainers(status?.containerStatuses, reason, exitCode),
    initContainerStatuses: endedContainers(status?.initContainerStatuses, reason, exitCode),
  };
}

/**
 * Status of a pod that is being deleted, and of which nothing is left at the provider. As with pods that Kubernetes itself takes away from a lost
 * node, containers get no exit code that none of them had, and others' conditions stay: a Job's failure policy goes by both.
 */
export function goneStatus(pod: Pod): PodStatus {
  const reason = "Deleted";
  const message = "the pod was deleted, and nothing is left at the provider that tells how it ended";
  return { ...notReadyStatus(pod, reason, message), phase: "Failed", reason, message };
}

/** Whether the consumer has given the pod up for good, so that nothing of it may run at the provider. */
export function isGivenUp({ status }: Pod): boolean {
  return status?.phase === "Failed" && (status.reason === PodReasons.aborted || status.reason === PodReasons.replaced);
}
