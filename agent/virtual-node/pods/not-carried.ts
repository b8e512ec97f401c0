import type { Container, EphemeralContainer, Pod, PodSpec } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";

/** Fields that mean something in the consumer's cluster only, and that a pod is the poorer for. */
const DROPPED = [
  "hostNetwork",
  "hostPID",
  "hostIPC",
  "priorityClassName",
  "overhead",
  "resourceClaims",
  // Younger than the published types: groups are objects of the consumer's, and what they ask of its scheduler nobody asks of the provider's.
  "schedulingGroup",
  "workloadRef",
] as const;

/** Fields in which every pod has some value: only another one asks for something that the remote pod does not have by itself. */
const ORDINARY: Partial<Record<keyof PodSpec, string>> = {
  schedulerName: "default-scheduler",
  // Admission says so of every pod.
  preemptionPolicy: "PreemptLowerPriority",
};
/** What nodes of a provider are taken to be. */
const ORDINARY_OS = "linux";

/**
 * What a pod asks for that does not come along to the provider (offloading specification, §6.3), by the field's path: whoever made the pod must be
 * told, as nothing else shows it. What has chosen the virtual node (node selector, node affinity) has done its work and is not named.
 */
export function notCarried({ spec, metadata }: Pod): string[] {
  if (!spec) return [];
  const present: Partial<Record<string, unknown>> = { ...spec };
  const ordinary: Partial<Record<string, string>> = ORDINARY;
  const dropped = DROPPED.filter((field) => isAsked(present[field]));
  const unusual = Object.keys(ordinary).filter((field) => present[field] && present[field] !== ordinary[field]);
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const preset = metadata?.annotations?.[Annotations.antiAffinityPreset];
  return [
    ...[...dropped, ...unusual].map((field) => `spec.${field}`),
    ...(spec.os && spec.os.name !== ORDINARY_OS ? ["spec.os"] : []),
    ...(podAffinity ? ["spec.affinity.podAffinity"] : []),
    ...(podAntiAffinity && !preset ? [`spec.affinity.podAntiAffinity (see ${Annotations.antiAffinityPreset})`] : []),
    ...pathsOf(spec, ({ resources }) => isAsked(resources?.claims), "resources.claims"),
  ];
}

/**
 * What a pod takes from its node that comes along, but from a node of the provider that nobody has chosen, by the field's path. Whether its
 * provider allows that is the provider's matter.
 */
export function meansOtherNode({ spec }: Pod): string[] {
  if (!spec) return [];
  const volumes = (spec.volumes ?? []).filter(({ hostPath }) => hostPath);
  return [
    ...volumes.map(({ name, hostPath }) => `spec.volumes[${name}].hostPath ${hostPath?.path ?? ""}`),
    ...pathsOf(spec, ({ securityContext }) => securityContext?.privileged === true, "securityContext.privileged"),
    ...pathsOf(spec, ({ ports }) => ports?.some(({ hostPort }) => hostPort) === true, "ports.hostPort"),
  ];
}

/** The field's path in each container that asks for it, debuggers' included. */
function pathsOf(spec: PodSpec, asks: (container: Container | EphemeralContainer) => boolean, field: string): string[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
    (spec[list] ?? []).filter(asks).map(({ name }) => `spec.${list}[${name}].${field}`),
  );
}

/** Whether a field's value asks for anything: what is false or empty is as if it were not there. */
export function isAsked(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== false && value !== "";
}
