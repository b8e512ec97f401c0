import type { NodeSelectorTerm, PodSpec, Toleration } from "kubernetes-types/core/v1";
import { Labels, LabelValues, Names, type NamespaceOffloadingSpec } from "../../api/index.js";
import type { PatchOperation } from "./admission.js";
import { withEvictionDelay, type EvictionDelay } from "./eviction-delay.js";

/** Lets a pod run on virtual nodes. */
export const VIRTUAL_NODE_TOLERATION: Toleration = {
  key: Names.virtualNodeTaint,
  operator: "Exists",
  effect: "NoExecute",
};

const isVirtual = { key: Labels.type, operator: "In", values: [LabelValues.virtualNodeType] };
const isNotVirtual = { key: Labels.type, operator: "NotIn", values: [LabelValues.virtualNodeType] };

/**
 * What a pod of an offloaded namespace is given at creation (offloading specification, §4.7): a toleration, and node
 * affinity for the clusters that the namespace is offloaded to; and how long it stays on a node that is out of reach. Strategy Local and RuntimeClass liqo: nothing.
 */
export function offloadingPatch(
  pod: PodSpec,
  offloading: NamespaceOffloadingSpec,
  eviction?: EvictionDelay,
): PatchOperation[] {
  const strategy = offloading.podOffloadingStrategy ?? "LocalAndRemote";
  if (strategy === "Local" || pod.runtimeClassName === Names.runtimeClass) return [];
  const required = termsOf(strategy, offloading.clusterSelector?.nodeSelectorTerms ?? []);
  return [...tolerationPatch(pod, eviction), ...affinityPatch(pod, required)];
}

/** The terms of which a node must match one; none means that every node will do. */
export function termsOf(strategy: "Remote" | "LocalAndRemote", selector: NodeSelectorTerm[]): NodeSelectorTerm[] {
  const virtual = { matchExpressions: [isVirtual] };
  if (strategy === "Remote") {
    return selector.length === 0 ? [virtual] : selector.map((term) => andTerms(term, virtual));
  }
  return selector.length === 0 ? [] : [...selector, { matchExpressions: [isNotVirtual] }];
}

/** A node matches one term of each list: every pair, joined. An empty list asks for nothing. */
export function crossProduct(a: NodeSelectorTerm[], b: NodeSelectorTerm[]): NodeSelectorTerm[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  return a.flatMap((left) => b.map((right) => andTerms(left, right)));
}

/** Both terms at once. An empty term matches no node, and so does its conjunction with any other. */
function andTerms(a: NodeSelectorTerm, b: NodeSelectorTerm): NodeSelectorTerm {
  if (isEmpty(a) || isEmpty(b)) return {};
  const matchExpressions = [...(a.matchExpressions ?? []), ...(b.matchExpressions ?? [])];
  const matchFields = [...(a.matchFields ?? []), ...(b.matchFields ?? [])];
  return {
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
    ...(matchFields.length > 0 ? { matchFields } : {}),
  };
}

function isEmpty(term: NodeSelectorTerm): boolean {
  return !term.matchExpressions?.length && !term.matchFields?.length;
}

/** Whether a pod has the toleration that pods of offloaded namespaces are given. */
export function toleratesVirtualNodes(pod: PodSpec | undefined): boolean {
  const { key, operator, effect } = VIRTUAL_NODE_TOLERATION;
  return (pod?.tolerations ?? []).some(
    (other) => other.key === key && other.operator === operator && other.effect === effect,
  );
}

function tolerationPatch(pod: PodSpec, eviction: EvictionDelay | undefined): PatchOperation[] {
  const present = pod.tolerations ?? [];
  const timed = eviction === undefined ? present : withEvictionDelay(present, eviction);
  if (timed === present && toleratesVirtualNodes(pod)) return [];
  const value = toleratesVirtualNodes(pod) ? timed : [...timed, VIRTUAL_NODE_TOLERATION];
  return [{ op: "add", path: "/spec/tolerations", value }];
}

/** Requires a node that matches one of the terms, beside what the pod requires itself. `path` is that of the pod's spec in the object. */
export function affinityPatch(pod: PodSpec, terms: NodeSelectorTerm[], path = "/spec"): PatchOperation[] {
  if (terms.length === 0) return [];
  const nodeAffinity = pod.affinity?.nodeAffinity;
  const present = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const nodeSelectorTerms = crossProduct(present?.nodeSelectorTerms ?? [], terms);
  const value = {
    ...pod.affinity,
    nodeAffinity: {
      ...nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { ...present, nodeSelectorTerms },
    },
  };
  return [{ op: "add", path: `${path}/affinity`, value }];
}
