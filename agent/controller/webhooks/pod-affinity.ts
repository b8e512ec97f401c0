import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { NodeSelectorTerm, Pod, PodSpec, Toleration } from "kubernetes-types/core/v1";
import { Annotations, Labels, LabelValues, Names, type NamespaceOffloadingSpec } from "../../api/index.js";
import { pointerPart, type PatchOperation } from "./admission.js";
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
  const required = requiredTerms(pod, offloading);
  return required ? [...tolerationPatch(pod, eviction), ...affinityPatch(pod, required)] : [];
}

/** The terms that a pod is given; undefined if it is left as it is. */
function requiredTerms(pod: PodSpec, offloading: NamespaceOffloadingSpec): NodeSelectorTerm[] | undefined {
  const strategy = offloading.podOffloadingStrategy ?? "LocalAndRemote";
  if (strategy === "Local" || pod.runtimeClassName === Names.runtimeClass) return undefined;
  return termsOf(strategy, offloading.clusterSelector?.nodeSelectorTerms ?? []);
}

/**
 * Notes on a pod that is made which terms it is given, as they cannot be told from its own afterwards. One that its template has brought along is
 * another pod's.
 */
export function termsNotePatch({ metadata, spec }: Pod, offloading: NamespaceOffloadingSpec): PatchOperation[] {
  const required = spec && requiredTerms(spec, offloading);
  if (!required) return [];
  const key = Annotations.clusterSelectorHash;
  const path = `/metadata/annotations/${pointerPart(key)}`;
  const annotations = metadata?.annotations;
  if (required.length === 0) return annotations?.[key] === undefined ? [] : [{ op: "remove", path }];
  const value = hashOf(required);
  return [
    annotations ? { op: "add", path, value } : { op: "add", path: "/metadata/annotations", value: { [key]: value } },
  ];
}

/**
 * Whether a pod has been given other terms than one that is made now. Without a note it was given none, or before there were notes: then it is judged by
 * whether its own end as they would.
 */
export function hasOtherTerms({ metadata, spec }: Pod, offloading: NamespaceOffloadingSpec): boolean {
  const required = spec && requiredTerms(spec, offloading);
  if (!required) return false;
  const note = metadata?.annotations?.[Annotations.clusterSelectorHash];
  if (note !== undefined) return required.length === 0 || note !== hashOf(required);
  const present = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return !endsWithTerms(present ?? [], required);
}

/** Whether terms can be the cross product of any others with `required`. */
function endsWithTerms(terms: NodeSelectorTerm[], required: NodeSelectorTerm[]): boolean {
  if (required.length === 0) return true;
  if (terms.length === 0 || terms.length % required.length !== 0) return false;
  return terms.every((term, index) => {
    const { matchExpressions = [], matchFields = [] } = required[index % required.length] ?? {};
    return endsWith(term.matchExpressions ?? [], matchExpressions) && endsWith(term.matchFields ?? [], matchFields);
  });
}

function endsWith(list: unknown[], end: unknown[]): boolean {
  return end.length <= list.length && isDeepStrictEqual(list.slice(list.length - end.length), end);
}

function hashOf(terms: NodeSelectorTerm[]): string {
  return createHash("sha256").update(JSON.stringify(terms)).digest("hex").slice(0, 16);
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
