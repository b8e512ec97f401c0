import type { Affinity, Pod, PodAffinityTerm, TopologySpreadConstraint } from "kubernetes-types/core/v1";
import { Annotations, type OffloadingPatch } from "../../api/index.js";

/** Labels that tell replicas of one workload apart. */
const INSTANCE_LABELS = ["controller-revision-hash", "pod-template-hash", "statefulset.kubernetes.io/pod-name"];
/** Fields that name labels whose values the pod itself has. */
const LABEL_KEYS = ["matchLabelKeys", "mismatchLabelKeys"] as const;

/**
 * Affinity of the remote pod: the local one speaks of the consumer's nodes and is dropped; what the patch and the
 * anti-affinity annotation ask for takes its place (offloading specification, §6.3).
 */
export function remoteAffinity(pod: Pod, labels: Record<string, string>, patch: OffloadingPatch): Affinity | undefined {
  const nodeAffinity = patch.affinity?.nodeAffinity;
  const podAntiAffinity = antiAffinity(pod, labels);
  if (!nodeAffinity && !podAntiAffinity) return undefined;
  return { ...(nodeAffinity ? { nodeAffinity } : {}), ...(podAntiAffinity ? { podAntiAffinity } : {}) };
}

function antiAffinity(pod: Pod, labels: Record<string, string>): Affinity["podAntiAffinity"] {
  const annotations = pod.metadata?.annotations ?? {};
  const preset = annotations[Annotations.antiAffinityPreset];
  if (preset === "propagate") return propagated(pod.spec?.affinity?.podAntiAffinity);
  if (preset !== "soft" && preset !== "hard") return undefined;
  const matchLabels = matchedLabels(labels, annotations[Annotations.antiAffinityLabels]);
  const term: PodAffinityTerm = { labelSelector: { matchLabels }, topologyKey: "kubernetes.io/hostname" };
  return preset === "hard"
    ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
    : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] };
}

function propagated(terms: Affinity["podAntiAffinity"]): Affinity["podAntiAffinity"] {
  if (!terms) return undefined;
  const required = terms.requiredDuringSchedulingIgnoredDuringExecution?.map(withoutMergedKeys);
  const preferred = terms.preferredDuringSchedulingIgnoredDuringExecution?.map(({ weight, podAffinityTerm }) => ({
    weight,
    podAffinityTerm: withoutMergedKeys(podAffinityTerm),
  }));
  return {
    ...(required ? { requiredDuringSchedulingIgnoredDuringExecution: required } : {}),
    ...(preferred ? { preferredDuringSchedulingIgnoredDuringExecution: preferred } : {}),
  };
}

/**
 * Without the label keys that the term's expressions name: the consumer's API server has put there what they stand for (affinity since
 * Kubernetes 1.31, spread since 1.34), and the provider's does not take a key twice.
 */
export function withoutMergedKeys<T extends PodAffinityTerm | TopologySpreadConstraint>(term: T): T {
  const result: Pick<PodAffinityTerm, (typeof LABEL_KEYS)[number] | "labelSelector"> = { ...term };
  const merged = new Set(result.labelSelector?.matchExpressions?.map(({ key }) => key));
  for (const field of LABEL_KEYS) {
    const left = result[field]?.filter((key) => !merged.has(key)) ?? [];
    if (left.length > 0) result[field] = left;
    else delete result[field];
  }
  return result as T;
}

function matchedLabels(labels: Record<string, string>, listed: string | undefined): Record<string, string> {
  const names = listed
    ?.split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return Object.fromEntries(
    Object.entries(labels).filter(([name]) => (names ? names.includes(name) : !INSTANCE_LABELS.includes(name))),
  );
}
