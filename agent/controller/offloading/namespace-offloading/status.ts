import type { NamespaceMapPhase, OffloadingPhase, RemoteNamespaceCondition } from "../../../api/index.js";
import { findCondition, withCondition } from "../../../runtime/index.js";

type Conditions = Record<string, RemoteNamespaceCondition[]>;

/** Users' data would be lost with a namespace, or its pods are leaving. */
export interface KeptNamespace {
  reason: "VolumesWouldBeLost" | "PodsLeaving";
  message: string;
}

/** What is known of one cluster. */
export interface ClusterState {
  selected: boolean;
  /** Of the namespace there, undefined while the provider has not answered. */
  phase?: NamespaceMapPhase;
  /** Why the namespace stays there though the cluster is not selected any more. */
  kept?: KeptNamespace;
}

/** The conditions of each cluster (offloading specification, §4.3). Clusters not in `clusters` are dropped. */
export function clusterConditions(clusters: ReadonlyMap<string, ClusterState>, before: Conditions = {}): Conditions {
  return Object.fromEntries(
    [...clusters].map(([clusterID, state]) => [clusterID, conditionsOf(state, before[clusterID] ?? [])]),
  );
}

function conditionsOf(
  { selected, phase, kept }: ClusterState,
  before: RemoteNamespaceCondition[],
): RemoteNamespaceCondition[] {
  const required = withCondition(
    before.filter(({ type }) => type === "OffloadingRequired"),
    selected
      ? condition("OffloadingRequired", true, "ClusterSelected", "the cluster is selected by the cluster selector")
      : kept !== undefined
        ? condition("OffloadingRequired", false, kept.reason, kept.message)
        : condition("OffloadingRequired", false, "ClusterNotSelected", "no virtual node of the cluster is selected"),
  );
  if (!selected && phase === undefined) return required;
  const ready = withCondition(
    before.filter(({ type }) => type === "Ready"),
    selected || kept !== undefined ? readyCondition(phase) : readyCondition("Terminating"),
  );
  return [...required, ...ready];
}

function readyCondition(phase: NamespaceMapPhase | undefined): RemoteNamespaceCondition {
  switch (phase) {
    case "Accepted":
      return condition("Ready", true, "NamespaceCreated", "the remote namespace exists");
    case "CreationLoopBackOff":
      return condition(
        "Ready",
        false,
        "CreationLoopBackOff",
        "a namespace of this name exists there already, or its name is not valid",
      );
    case "Terminating":
      return condition("Ready", false, "Terminating", "the remote namespace is being deleted");
    case undefined:
      return condition("Ready", false, "Creating", "the remote namespace is being created");
  }
}

function condition(
  type: RemoteNamespaceCondition["type"],
  isTrue: boolean,
  reason: string,
  message: string,
): RemoteNamespaceCondition {
  return { type, status: isTrue ? "True" : "False", reason, message };
}

/** The phase that sums the conditions up; the first that fits. */
export function offloadingPhase(conditions: Conditions, deleting: boolean): OffloadingPhase {
  if (deleting) return "Terminating";
  const required = Object.values(conditions).filter(
    (list) => findCondition(list, "OffloadingRequired")?.status === "True",
  );
  if (required.length === 0) return "NoClusterSelected";
  const ready = required.map((list) => findCondition(list, "Ready"));
  if (ready.every((one) => one?.status === "True")) return "Ready";
  const failed = ready.filter((one) => one?.reason === "CreationLoopBackOff").length;
  if (failed === required.length) return "AllFailed";
  return failed > 0 ? "SomeFailed" : "InProgress";
}
