import type { Node, Taint } from "kubernetes-types/core/v1";
import { LabelValues, Labels, Names, type VirtualNode } from "../../api/index.js";
import type { VirtualNodeConfig } from "../arguments.js";

/** Remembers on the Node itself what the virtual node has set, so that only that is ever removed. */
export const APPLIED_ANNOTATION = "virtual-node.liqo.io/applied";

export interface NodeMetadata {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  taints: Taint[];
}

interface Applied {
  labels: string[];
  annotations: string[];
  /** As key:effect. */
  taints: string[];
}

/** What a virtual node's process is told of its Node, beside the VirtualNode itself. */
export type NodeSettings = Pick<
  VirtualNodeConfig,
  "nodeName" | "foreignClusterId" | "nodeExtraLabels" | "nodeExtraAnnotations"
>;

/** Labels, annotations and taints that the virtual node wants on its Node (offloading specification, §3). */
export function desiredNodeMetadata(config: NodeSettings, virtualNode: VirtualNode): NodeMetadata {
  const { spec } = virtualNode;
  return {
    labels: {
      "kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/role": "agent",
      type: "virtual-kubelet",
      "node.kubernetes.io/exclude-from-external-load-balancers": "true",
      "alpha.service-controller.kubernetes.io/exclude-balancer": "true",
      [Labels.storageAvailable]: String((spec.storageClasses ?? []).length > 0),
      ...decidedLabels(config, virtualNode),
    },
    annotations: { ...config.nodeExtraAnnotations, ...spec.annotations },
    taints: [{ key: Names.virtualNodeTaint, value: "true", effect: "NoExecute" }, ...(spec.taints ?? [])],
  };
}

/** The labels that nobody but who makes the virtual node, or its options, decides. */
export function decidedLabels(
  { nodeName, foreignClusterId, nodeExtraLabels }: NodeSettings,
  { spec }: VirtualNode,
): Record<string, string> {
  return {
    ...nodeExtraLabels,
    ...spec.labels,
    "kubernetes.io/hostname": nodeName,
    [Labels.type]: LabelValues.virtualNodeType,
    [Labels.remoteClusterID]: foreignClusterId,
  };
}

/** The annotation's value for what is wanted. */
export function appliedRecord({ labels, annotations, taints }: NodeMetadata): string {
  const applied: Applied = {
    labels: Object.keys(labels).sort(),
    annotations: Object.keys(annotations).sort(),
    taints: taints.map(taintKey).sort(),
  };
  return JSON.stringify(applied);
}

/** The merge patch that brings the Node to what is wanted, or undefined when it is there already. */
export function nodeMetadataPatch(node: Node, desired: NodeMetadata): object | undefined {
  const { metadata, spec } = node;
  const applied = readApplied(metadata?.annotations?.[APPLIED_ANNOTATION]);
  const wanted = { ...desired.annotations, [APPLIED_ANNOTATION]: appliedRecord(desired) };
  const labels = mapPatch(metadata?.labels, desired.labels, applied.labels);
  const annotations = mapPatch(metadata?.annotations, wanted, applied.annotations);
  const taints = mergedTaints(spec?.taints ?? [], desired.taints, applied.taints);
  if (!labels && !annotations && !taints) return undefined;
  return {
    // A list is replaced as a whole: what others have changed meanwhile must be read first.
    metadata: { resourceVersion: metadata?.resourceVersion, labels, annotations },
    ...(taints ? { spec: { taints } } : {}),
  };
}

/** Whether a Node of this name may be taken as ours. */
export function isOwnNode(node: Node, config: VirtualNodeConfig): boolean {
  const labels = node.metadata?.labels ?? {};
  return (
    labels[Labels.type] === LabelValues.virtualNodeType && labels[Labels.remoteClusterID] === config.foreignClusterId
  );
}

function mapPatch(
  present: Record<string, string> = {},
  desired: Record<string, string>,
  applied: string[],
): Record<string, string | null> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(desired)) if (present[key] !== value) patch[key] = value;
  for (const key of applied) if (!(key in desired) && key in present) patch[key] = null;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function mergedTaints(present: Taint[], desired: Taint[], applied: string[]): Taint[] | undefined {
  const wanted = new Map(desired.map((taint) => [taintKey(taint), taint]));
  const kept = present.filter((taint) => !wanted.has(taintKey(taint)) && !applied.includes(taintKey(taint)));
  const unchanged =
    kept.length + wanted.size === present.length &&
    present.every((taint) => {
      const want = wanted.get(taintKey(taint));
      return !want || (want.value ?? "") === (taint.value ?? "");
    });
  return unchanged ? undefined : [...wanted.values(), ...kept];
}

function taintKey({ key, effect }: Taint): string {
  return `${key}:${effect}`;
}

function readApplied(text: string | undefined): Applied {
  const none: Applied = { labels: [], annotations: [], taints: [] };
  try {
    return { ...none, ...(JSON.parse(text ?? "{}") as Partial<Applied>) };
  } catch {
    return none;
  }
}
