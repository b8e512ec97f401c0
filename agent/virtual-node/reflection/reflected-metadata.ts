import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { ANNOTATIONS_NOT_REFLECTED, Annotations, Labels, type OffloadingPatch } from "../../api/index.js";

/** Annotations that mean something to the cluster they were written for only (offloading specification, §8.2). */
const NEVER_REFLECTED = new Set<string>([
  ...ANNOTATIONS_NOT_REFLECTED,
  Annotations.clusterSelectorHash,
  "kubectl.kubernetes.io/last-applied-configuration",
]);

/** Which clusters a reflected object belongs to. */
export interface Reflection {
  origin: string;
  destination: string;
}

/** The labels by which the provider, and we, know a reflected object. */
export function reflectionLabels({ origin, destination }: Reflection): Record<string, string> {
  return { [Labels.offloadingOrigin]: origin, [Labels.offloadingDestination]: destination };
}

export function isReflected(metadata: ObjectMeta | undefined, { origin, destination }: Reflection): boolean {
  const labels = metadata?.labels ?? {};
  return labels[Labels.offloadingOrigin] === origin && labels[Labels.offloadingDestination] === destination;
}

/** Selects what we have reflected into a remote namespace, tokens (which belong to one node) aside. */
export function reflectionSelector({ origin, destination }: Reflection): string {
  return `${Labels.offloadingOrigin}=${origin},${Labels.offloadingDestination}=${destination},!${Labels.offloadingNodeName}`;
}

/** Labels and annotations of the remote object. */
export function reflectedMetadata(
  metadata: ObjectMeta | undefined,
  reflection: Reflection,
  patch: OffloadingPatch = {},
): { labels: Record<string, string>; annotations: Record<string, string> } {
  const labels = without(metadata?.labels, new Set(patch.labelsNotReflected));
  const annotations = without(
    metadata?.annotations,
    new Set([...(patch.annotationsNotReflected ?? []), ...NEVER_REFLECTED]),
  );
  for (const key of Object.keys(annotations))
    if (key.startsWith(Annotations.publishedAtPrefix)) delete annotations[key];
  return { labels: { ...labels, ...reflectionLabels(reflection) }, annotations };
}

/** DenyList: all but what is annotated to be skipped. AllowList: only what is annotated to be allowed (offloading specification, §8.1). */
export type ReflectionPolicy = "DenyList" | "AllowList";

/** Whether the policy and the object's own annotations let it be reflected. */
export function isReflectable(annotations: Record<string, string> | undefined, policy: ReflectionPolicy): boolean {
  return policy === "AllowList"
    ? isSet(annotations?.[Annotations.allowReflection])
    : !isSet(annotations?.[Annotations.skipReflection]);
}

/** Present and not "false", in any case. */
export function isSet(value: string | undefined): boolean {
  return value !== undefined && value.toLowerCase() !== "false";
}

function without(entries: Record<string, string> | undefined, keys: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !keys.has(key)));
}
