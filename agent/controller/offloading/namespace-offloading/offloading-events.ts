import {
  NamespaceOffloadingResource,
  type NamespaceOffloading,
  type NamespaceOffloadingStatus,
} from "../../../api/index.js";
import { findCondition, type EventRecorder } from "../../../runtime/index.js";

/**
 * Events on a NamespaceOffloading whose status has just been written: where its remote namespace was made, was refused, is being deleted, and is none of it any
 * more, and when all providers that are wanted have it.
 */
export function tellOffloading(
  events: EventRecorder,
  offloading: NamespaceOffloading,
  status: NamespaceOffloadingStatus,
): void {
  const normal = (reason: string, message: string): void =>
    events.normal(NamespaceOffloadingResource, offloading, reason, message);
  const warning = (reason: string, message: string): void =>
    events.warning(NamespaceOffloadingResource, offloading, reason, message);
  const [before, after] = [readiness(offloading.status), readiness(status)];
  const name = status.remoteNamespaceName ?? "";
  for (const clusterID of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(clusterID), after.get(clusterID)];
    if (was?.reason === is?.reason) continue;
    const there = `cluster ${clusterID}, namespace ${name}`;
    if (!is) normal("OffloadingEnded", `${there}: nothing is offloaded there any more`);
    else if (is.status === "True") normal("RemoteNamespaceReady", `${there}: ${is.message}`);
    else if (is.reason === "CreationLoopBackOff") warning("RemoteNamespaceRefused", `${there}: ${is.message}`);
    else if (is.reason === "Terminating") normal("RemoteNamespaceEnding", `${there}: ${is.message}`);
  }
  const { offloadingPhase } = status;
  if (offloadingPhase === offloading.status?.offloadingPhase) return;
  if (offloadingPhase === "Ready") {
    const ready = [...after].flatMap(([clusterID, { status }]) => (status === "True" ? [clusterID] : []));
    normal("Offloaded", `offloaded to ${ready.join(", ")}: pods are scheduled there as the strategy says`);
  } else if (offloadingPhase === "NoClusterSelected") {
    warning("NoClusterSelected", "the cluster selector selects no virtual node: pods stay in this cluster");
  }
}

/** The condition of the remote namespace, by cluster. */
function readiness(status: NamespaceOffloadingStatus | undefined) {
  return new Map(
    Object.entries(status?.remoteNamespacesConditions ?? {}).flatMap(([clusterID, conditions]) => {
      const ready = findCondition(conditions, "Ready");
      return ready ? [[clusterID, ready] as const] : [];
    }),
  );
}
