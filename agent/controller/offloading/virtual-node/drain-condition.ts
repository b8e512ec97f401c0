import type { VirtualNode, VirtualNodeCondition } from "../../../api/index.js";
import { findCondition, kubeTime, listed } from "../../../runtime/index.js";
import type { DrainProgress } from "./drain.js";

/** How long pods are asked to leave before they are deleted whatever a budget says. */
export const DRAIN_DEADLINE_MS = 5 * 60 * 1000;
/** So many pods are named in a message. */
export const NAMED_PODS = 5;

/** When the drain that is going on must end. */
export function drainDeadline(virtualNode: VirtualNode, now = new Date()): Date {
  const condition = findCondition(virtualNode.status?.conditions, "Node");
  const start =
    condition?.status === "Draining" && condition.lastTransitionTime ? Date.parse(condition.lastTransitionTime) : NaN;
  return new Date((Number.isNaN(start) ? now.getTime() : start) + DRAIN_DEADLINE_MS);
}

/** Tells who is waited for and until when. */
export function drainCondition({ remaining, blocked }: DrainProgress, deadline: Date): VirtualNodeCondition {
  const until = `those left at ${kubeTime(deadline)} are deleted`;
  const waiting = `waiting for ${remaining.length} pods to leave: ${listed(remaining, NAMED_PODS)}`;
  const held = blocked.length > 0 ? `; held by a PodDisruptionBudget: ${listed(blocked, NAMED_PODS)}` : "";
  const condition = { type: "Node", status: "Draining" } as const;
  if (remaining.length === 0) return { ...condition, reason: "Drained", message: "all pods have left" };
  const reason = blocked.length > 0 ? "EvictionBlocked" : "Draining";
  return { ...condition, reason, message: `${waiting}${held}; ${until}` };
}
