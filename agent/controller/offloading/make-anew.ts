import type { Pod } from "kubernetes-types/core/v1";
import { findCondition, hasController, PodResource, type EventRecorder, type KubeClient } from "../../runtime/index.js";

/** Why a pod that no node was found for is not as one that is made now. */
export interface Outdated {
  /** Of the event. */
  reason: string;
  /** What nobody but the user can do, where no controller would make it anew. */
  message: string;
  /** What it is made anew for. */
  purpose: string;
}

/** A pod that a controller makes anew is deleted if no node was found for it, so that it is as one that is made now; any other is told by an event. */
export async function makeAnew(
  { client, events }: { client: KubeClient; events: EventRecorder },
  pod: Pod,
  { reason, message, purpose }: Outdated,
): Promise<void> {
  if (!isUnschedulable(pod)) return;
  if (!hasController(pod)) return events.warning(PodResource, pod, reason, message);
  const { name = "", namespace, uid } = pod.metadata ?? {};
  await client.delete(PodResource, { name, namespace }, { uid });
  events.normal(PodResource, pod, reason, `deleted before it had a node, so that it is made anew for ${purpose}`);
}

function isUnschedulable({ status }: Pod): boolean {
  return findCondition(status?.conditions, "PodScheduled")?.status === "False";
}
