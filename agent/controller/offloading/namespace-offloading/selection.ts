import type { Node } from "kubernetes-types/core/v1";
import { Labels, type NamespaceOffloadingSpec, type VirtualNode } from "../../../api/index.js";
import { isDeleting } from "../../../runtime/index.js";
import { matchesNodeSelector } from "../node-selector.js";

/**
 * Which of the clusters that have virtual nodes a namespace is offloaded to: those with any node that matches the selector. A virtual node
 * whose Node is not there yet is judged by the labels that its Node will get (offloading specification, §4.2). Where the Node of a cluster that is selected
 * has gone, as of a provider that is out of reach, that says nothing of its labels: the cluster stays selected until the Node is back.
 */
export function selectedClusters(
  spec: NamespaceOffloadingSpec,
  virtualNodes: readonly VirtualNode[],
  nodeOf: (name: string) => Node | undefined,
  isSelectedNow: (clusterID: string) => boolean,
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
    const isMatch = matchesNodeSelector(terms, { name, labels }) || (isMissing && isSelectedNow(clusterID));
    selected.set(clusterID, selected.get(clusterID) === true || isMatch);
  }
  return selected;
}

function expectedLabels({ spec }: VirtualNode): Record<string, string> {
  return {
    ...spec.labels,
    [Labels.remoteClusterID]: spec.clusterID ?? "",
    [Labels.storageAvailable]: String((spec.storageClasses ?? []).length > 0),
  };
}
