import { isDeepStrictEqual } from "node:util";
import type { ContainerStatus, Pod, PodCondition, PodStatus } from "kubernetes-types/core/v1";
import { Labels } from "../../api/index.js";
import { isDeleting, kubeTime } from "../../runtime/index.js";
import { withRestarts } from "./restart-counts.js";
import { withEndedDebuggers } from "./terminated-containers.js";

/** Fields that the API server ties to the local pod's own spec, or that were decided when it was made. */
const LOCAL_FIELDS = ["qosClass", "nominatedNodeName", "resourceClaimStatuses", "extendedResourceClaimStatus"] as const;
/** Conditions that the remote kubelet and scheduler write. */
const REMOTE_CONDITIONS = new Set([
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodReadyToStartContainers",
  "PodResizePending",
  "PodResizeInProgress",
]);

export interface PodStatusOptions {
  /** The virtual node's address. */
  hostIP: string;
  /** Remote pod address → address here. */
  translate: (address: string) => string;
  restartOffset: number;
}

/** The remote pod's status as the consumer's API server takes it (offloading specification, §6.4). */
export function localPodStatus(local: Pod, remote: Pod, options: PodStatusOptions): PodStatus {
  const source: PodStatus = remote.status ?? {};
  const present: PodStatus = local.status ?? {};
  const podIP = source.podIP ? options.translate(source.podIP) : undefined;
  const status: PodStatus = {
    ...source,
    conditions: mergedConditions(local, source.conditions ?? []),
    containerStatuses: withRestarts(
      ofContainers(local.spec?.containers, source.containerStatuses),
      present.containerStatuses,
      options.restartOffset,
    ),
    initContainerStatuses: withRestarts(
      ofContainers(local.spec?.initContainers, source.initContainerStatuses),
      present.initContainerStatuses,
      options.restartOffset,
    ),
    ephemeralContainerStatuses: withEndedDebuggers(
      ofContainers(local.spec?.ephemeralContainers, source.ephemeralContainerStatuses),
      present.ephemeralContainerStatuses,
    ),
    podIP,
    podIPs: podIP ? [{ ip: podIP }] : undefined,
    hostIP: options.hostIP,
    hostIPs: [{ ip: options.hostIP }],
  };
  if (isMadeAnew(local, remote)) Object.assign(status, { phase: present.phase, reason: undefined, message: undefined });
  if ("observedGeneration" in status) Object.assign(status, { observedGeneration: local.metadata?.generation });
  return plain(withLocalFields(status, present));
}

/** The present status, not ready: the remote pod is gone for the moment, or out of reach. */
export function notReadyStatus(local: Pod, reason: string, message: string): PodStatus {
  return plain({ ...local.status, conditions: withNotReady(local.status?.conditions ?? [], reason, message) });
}

/**
 * The merge patch for `pods/status`, or undefined when it would change nothing. Labels that the pod lacks go with it, as that endpoint takes
 * them too: a write of their own costs as much as one of the status.
 */
export function podStatusPatch(
  local: Pod,
  desired: PodStatus,
  labels: Record<string, string> = {},
): object | undefined {
  const present = plain(local.status ?? {}) as Record<string, unknown>;
  const wanted = desired as Record<string, unknown>;
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(wanted)) if (!isDeepStrictEqual(present[key], value)) patch[key] = value;
  for (const key of Object.keys(present)) if (!(key in wanted)) patch[key] = null;
  const missing = Object.entries(labels).filter(([key, value]) => local.metadata?.labels?.[key] !== value);
  if (Object.keys(patch).length === 0 && missing.length === 0) return undefined;
  // Another pod of the same name must not get it. Conditions are replaced as a whole: one that opens a gate meanwhile must be read first.
  const hasGates = (local.spec?.readinessGates ?? []).length > 0;
  const metadata = {
    uid: local.metadata?.uid,
    ...(hasGates ? { resourceVersion: local.metadata?.resourceVersion } : {}),
    ...(missing.length > 0 ? { labels: Object.fromEntries(missing) } : {}),
  };
  return { metadata, status: patch };
}

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/**
 * Whether a remote pod has ended only because the provider moves it, as when it empties a node: of a pod that is to run for ever another
 * one follows, and the local pod waits for that.
 */
function isMadeAnew(local: Pod, remote: Pod): boolean {
  const runsForEver = (local.spec?.restartPolicy ?? "Always") === "Always";
  return runsForEver && isDeleting(remote) && !isDeleting(local) && isTerminalPhase(remote.status?.phase);
}

/** Statuses of the containers that the local pod has: a provider's admission or users may have added their own. */
function ofContainers(
  containers: { name: string }[] = [],
  statuses: ContainerStatus[] = [],
): ContainerStatus[] | undefined {
  const known = statuses.filter(({ name }) => containers.some((container) => container.name === name));
  return known.length > 0 ? known : undefined;
}

function withLocalFields(status: PodStatus, present: PodStatus): PodStatus {
  const result: Record<string, unknown> = { ...status };
  const local = present as Record<string, unknown>;
  for (const field of LOCAL_FIELDS) result[field] = local[field];
  return result;
}

/** The remote conditions, with those that local controllers have added (readiness gates, disruption targets). */
function mergedConditions(local: Pod, remote: PodCondition[]): PodCondition[] {
  const copies = remote.map((condition): PodCondition => {
    const copy: PodCondition & { observedGeneration?: number } = { ...condition };
    delete copy.observedGeneration;
    return copy;
  });
  const added = (local.status?.conditions ?? []).filter(
    ({ type }) => !REMOTE_CONDITIONS.has(type) && !copies.some((condition) => condition.type === type),
  );
  const conditions = [...copies, ...added];
  const why = unreadiness(local, conditions);
  if (why) return withNotReady(conditions, why.reason, why.message, local.status?.conditions);
  return conditions.map((condition) =>
    condition.type === "Ready" ? sinceGates(condition, local, conditions) : condition,
  );
}

/** Why a pod is not ready here though it is at the provider. */
function unreadiness(local: Pod, conditions: PodCondition[]): { reason: string; message: string } | undefined {
  if (local.metadata?.labels?.[Labels.remoteUnavailable] === "true")
    return { reason: "RemoteUnavailable", message: "the provider's cluster cannot be reached" };
  const gates = (local.spec?.readinessGates ?? []).map(({ conditionType }) => conditionType);
  const closed = gates.filter((gate) => conditions.find(({ type }) => type === gate)?.status !== "True");
  if (closed.length === 0) return undefined;
  const message = `conditions of readiness gates that are not True: ${closed.join(", ")}`;
  return { reason: "ReadinessGatesNotReady", message };
}

/** A pod is ready here since the last of its gates has opened, whatever it was at the provider before. */
function sinceGates(ready: PodCondition, local: Pod, conditions: PodCondition[]): PodCondition {
  const gates = new Set(local.spec?.readinessGates?.map(({ conditionType }) => conditionType));
  const times = conditions.flatMap(({ type, lastTransitionTime }) =>
    gates.has(type) ? (lastTransitionTime ?? []) : [],
  );
  const latest = [...times, ready.lastTransitionTime ?? ""].sort().at(-1);
  return times.length === 0 ? ready : { ...ready, lastTransitionTime: latest };
}

function withNotReady(
  conditions: PodCondition[],
  reason: string,
  message: string,
  present: PodCondition[] = [],
): PodCondition[] {
  const before = present.find(({ type }) => type === "Ready");
  const lastTransitionTime = before?.status === "False" ? before.lastTransitionTime : kubeTime();
  return conditions.map((condition) => {
    if (condition.type !== "Ready" || condition.status !== "True") return condition;
    return { ...condition, status: "False", reason, message, lastTransitionTime };
  });
}

/** Without what JSON leaves out, so that comparisons see what the API server will. */
function plain(status: PodStatus): PodStatus {
  return JSON.parse(JSON.stringify(status)) as PodStatus;
}
