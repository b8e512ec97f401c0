import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";

/** Fields that mean something in the consumer's cluster only, and that a pod is the poorer for. */
const DROPPED = [
  "hostNetwork",
  "hostPID",
  "hostIPC",
  "priorityClassName",
  "overhead",
  "resourceClaims",
] as const satisfies readonly (keyof PodSpec)[];

/**
 * What a pod asks for that does not come along to the provider (offloading specification, §6.3), by the field's path: whoever made the pod must be
 * told, as nothing else shows it. What has chosen the virtual node (node selector, node affinity) has done its work and is not named.
 */
export function notCarried({ spec, metadata }: Pod): string[] {
  if (!spec) return [];
  const fields = DROPPED.filter((field) => isAsked(spec[field])).map((field) => `spec.${field}`);
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const preset = metadata?.annotations?.[Annotations.antiAffinityPreset];
  return [
    ...fields,
    ...(spec.schedulerName && spec.schedulerName !== "default-scheduler" ? ["spec.schedulerName"] : []),
    ...(podAffinity ? ["spec.affinity.podAffinity"] : []),
    ...(podAntiAffinity && !preset ? [`spec.affinity.podAntiAffinity (see ${Annotations.antiAffinityPreset})`] : []),
    ...spec.containers
      .filter(({ resources }) => isAsked(resources?.claims))
      .map(({ name }) => `spec.containers[${name}].resources.claims`),
  ];
}

/**
 * What a pod takes from its node that comes along, but from a node of the provider that nobody has chosen, by the field's path. Whether its
 * provider allows that is the provider's matter.
 */
export function meansOtherNode({ spec }: Pod): string[] {
  const volumes = (spec?.volumes ?? []).filter(({ hostPath }) => hostPath);
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return [
    ...volumes.map(({ name, hostPath }) => `spec.volumes[${name}].hostPath ${hostPath?.path ?? ""}`),
    ...containers
      .filter(({ securityContext }) => securityContext?.privileged)
      .map(({ name }) => `spec.containers[${name}].securityContext.privileged`),
    ...containers
      .filter(({ ports }) => ports?.some(({ hostPort }) => hostPort))
      .map(({ name }) => `spec.containers[${name}].ports.hostPort`),
  ];
}

function isAsked(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== false && value !== "";
}
