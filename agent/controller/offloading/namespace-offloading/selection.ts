import type { Node } from "kubernetes-types/core/v1";
import { Labels, type NamespaceOffloadingSpec, type VirtualNode } from "../../../api/index.js";
import { matchesNodeSelector } from "../node-selector.js";

/**
 * Which of the clusters that have virtual nodes a namespace is offloaded to: those with any node that matches the selector. A virtual node
 * whose Node is not there yet is judged by the labels that its Node will get (offloading specification, §4.2).
 */
export function selectedClusters(
  spec: NamespaceOffloadingSpec,
  virtualNodes: readonly VirtualNode[],
  nodeOf: (name: string) => Node | undefined,
): Map<string, boolean> {
  const terms = spec.clusterSelector?.nodeSelectorTerms;
  const selected = new Map<string, boolean>();
  for (const virtualNode of virtualNodes) {
    const { clusterID } = virtualNode.spec;
    if (!clusterID) continue;
    const name = virtualNode.metadata.name ?? "";
    const labels = nodeOf(name)?.metadata?.labels ?? expectedLabels(virtualNode);
    selected.set(clusterID, selected.get(clusterID) === true || matchesNodeSelector(terms, { name, labels }));
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
