import type { Affinity, Pod, PodAffinityTerm } from "kubernetes-types/core/v1";
import { Annotations, type OffloadingPatch } from "../../api/index.js";

/** Labels that tell replicas of one workload apart. */
const INSTANCE_LABELS = ["controller-revision-hash", "pod-template-hash", "statefulset.kubernetes.io/pod-name"];

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
  if (preset === "propagate") return pod.spec?.affinity?.podAntiAffinity;
  if (preset !== "soft" && preset !== "hard") return undefined;
  const matchLabels = matchedLabels(labels, annotations[Annotations.antiAffinityLabels]);
  const term: PodAffinityTerm = { labelSelector: { matchLabels }, topologyKey: "kubernetes.io/hostname" };
  return preset === "hard"
    ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
    : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] };
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
