import { isDeepStrictEqual } from "node:util";
import type { ContainerStatus, PodStatus } from "kubernetes-types/core/v1";

/** Waiting reasons of a container that is on its way. */
const STARTING = new Set(["ContainerCreating", "PodInitializing"]);

/**
 * Whether somebody may act on the difference between two statuses of a pod, who must then learn of it at once: its phase or readiness, what its
 * containers do, a resize. The other steps of a pod's start follow each other within moments, and are told together.
 */
export function isUrgent(present: PodStatus | undefined, desired: PodStatus): boolean {
  return !isDeepStrictEqual(actedOn(present ?? {}), actedOn(desired));
}

function actedOn(status: PodStatus): unknown {
  const { conditions = [] } = status;
  return {
    phase: status.phase ?? "Pending",
    reason: status.reason,
    ready: conditions.some(({ type, status: value }) => type === "Ready" && value === "True"),
    resizing: conditions.filter(({ type }) => type.startsWith("PodResize")).map(({ type, reason }) => [type, reason]),
    containers: [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
      ...(status.ephemeralContainerStatuses ?? []),
    ]
      .filter((container) => !isStarting(container))
      .map(stateOf),
  };
}

function isStarting({ state, restartCount }: ContainerStatus): boolean {
  const reason = state?.waiting?.reason;
  return restartCount === 0 && !state?.running && !state?.terminated && (!reason || STARTING.has(reason));
}

function stateOf({ name, state, ready, restartCount, ...status }: ContainerStatus): unknown {
  const { running, terminated, waiting } = state ?? {};
  const resources = "resources" in status ? status.resources : undefined;
  return [name, Boolean(running), terminated, waiting?.reason, ready, restartCount, resources];
}
