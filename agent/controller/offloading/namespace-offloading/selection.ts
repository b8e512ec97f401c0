import type { Node } from "kubernetes-types/core/v1";
import { Labels, LabelValues, type NamespaceOffloadingSpec, type VirtualNode } from "../../../api/index.js";
import { isDeleting } from "../../../runtime/index.js";
import { matchesNodeSelector, mayMatchNodeSelector } from "../node-selector.js";

/** Whether a cluster was selected when it was last looked at: by what the user wants now, or by something before that; undefined if it was not. */
export type FormerSelection = "by this spec" | "by a former spec" | undefined;

/**
 * Which of the clusters that have virtual nodes a namespace is offloaded to: those with any node that matches the selector. A virtual node
 * whose Node is not there yet is judged by the labels that its Node will get (offloading specification, §4.2). Where the Node of a cluster that was selected
 * has gone, as of a provider that is out of reach, that says nothing of its labels: the cluster stays selected until the Node is back, or until
 * the user wants what it cannot match, whatever its labels were.
 */
export function selectedClusters(
  spec: NamespaceOffloadingSpec,
  virtualNodes: readonly VirtualNode[],
  nodeOf: (name: string) => Node | undefined,
  formerly: (clusterID: string) => FormerSelection,
): Map<string, boolean> {
  const terms = spec.clusterSelector?.nodeSelectorTerms;
  const selected = new Map<string, boolean>();
  for (const virtualNode of virtualNodes) {
    const { clusterID } = virtualNode.spec;
    if (!clusterID) continue;
    const name = virtualNode.metadata.name ?? "";
    const node = nodeOf(name);
    const labels = node?.metadata?.labels ?? expectedLabels(virtualNode);
    const isMissing = !node && virtualNode.spec.createNode !== false && !isDeleting(virtualNode);
    const isMatch = matchesNodeSelector(terms, { name, labels }) || (isMissing && isKept(virtualNode));
    selected.set(clusterID, selected.get(clusterID) === true || isMatch);
  }
  return selected;

  function isKept(virtualNode: VirtualNode): boolean {
    const { metadata, spec } = virtualNode;
    const former = formerly(spec.clusterID ?? "");
    if (former !== "by a former spec") return former !== undefined;
    return mayMatchNodeSelector(terms, { name: metadata.name ?? "", labels: certainLabels(virtualNode) });
  }
}

function expectedLabels(virtualNode: VirtualNode): Record<string, string> {
  return {
    ...certainLabels(virtualNode),
    [Labels.storageAvailable]: String((virtualNode.spec.storageClasses ?? []).length > 0),
  };
}

/** Those that the virtual node always sets on its Node: the user, or its options, may add any others. */
function certainLabels({ metadata, spec }: VirtualNode): Record<string, string> {
  return {
    ...spec.labels,
    "kubernetes.io/hostname": metadata.name ?? "",
    [Labels.type]: LabelValues.virtualNodeType,
    [Labels.remoteClusterID]: spec.clusterID ?? "",
  };
}
