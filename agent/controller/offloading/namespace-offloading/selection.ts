import type { Node } from "kubernetes-types/core/v1";
import type { NamespaceOffloadingSpec, VirtualNode } from "../../../api/index.js";
import { isDeleting } from "../../../runtime/index.js";
import { decidedLabels, desiredNodeMetadata, type NodeSettings } from "../../../virtual-node/node/node-metadata.js";
import { matchesNodeSelector, mayMatchNodeSelector } from "../node-selector.js";

/** Whether a cluster was selected when it was last looked at: by what the user wants now, or by something before that; undefined if it was not. */
export type FormerSelection = "by this spec" | "by a former spec" | undefined;

/** The labels that a virtual node's options add to its Node; undefined where they cannot be known. */
export type OptionLabels = (virtualNode: VirtualNode) => Record<string, string> | undefined;

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
  optionLabels: OptionLabels = () => undefined,
): Map<string, boolean> {
  const terms = spec.clusterSelector?.nodeSelectorTerms;
  const settings = (virtualNode: VirtualNode): NodeSettings => settingsOf(virtualNode, optionLabels(virtualNode));
  const selected = new Map<string, boolean>();
  for (const virtualNode of virtualNodes) {
    const { clusterID } = virtualNode.spec;
    if (!clusterID) continue;
    const name = virtualNode.metadata.name ?? "";
    const node = nodeOf(name);
    const labels = node?.metadata?.labels ?? desiredNodeMetadata(settings(virtualNode), virtualNode).labels;
    const isMissing = !node && virtualNode.spec.createNode !== false && !isDeleting(virtualNode);
    const isMatch = matchesNodeSelector(terms, { name, labels }) || (isMissing && isKept(virtualNode));
    selected.set(clusterID, selected.get(clusterID) === true || isMatch);
  }
  return selected;

  function isKept(virtualNode: VirtualNode): boolean {
    const { metadata, spec } = virtualNode;
    const former = formerly(spec.clusterID ?? "");
    if (former !== "by a former spec") return former !== undefined;
    // The user may add any others to its Node.
    const labels = decidedLabels(settings(virtualNode), virtualNode);
    return mayMatchNodeSelector(terms, { name: metadata.name ?? "", labels });
  }
}

/** What is known of a Node that is not there, as its process would be told it. */
function settingsOf({ metadata, spec }: VirtualNode, nodeExtraLabels: Record<string, string> = {}): NodeSettings {
  return {
    nodeName: metadata.name ?? "",
    foreignClusterId: spec.clusterID ?? "",
    nodeExtraLabels,
    nodeExtraAnnotations: {},
  };
}
