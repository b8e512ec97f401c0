import type { Pod } from "kubernetes-types/core/v1";
import type { VirtualNode } from "../../api/index.js";
import { isNodeReady } from "../offloading/informers.js";
import type { ConditionFinding } from "./conditions.js";
import type { PeerView } from "./peer-view.js";

export function isOffloadingInUse({ virtualNodes }: PeerView): boolean {
  return virtualNodes.length > 0;
}

/** The conditions of the offloading module (control plane specification, §8). */
export function offloadingFindings(view: PeerView): ConditionFinding[] {
  const { virtualNodes } = view;
  const working = virtualNodes.filter((virtualNode) => isProcessReady(view, virtualNode));
  const withNode = virtualNodes.filter(({ spec }) => spec.createNode !== false);
  const ready = withNode.filter(({ metadata }) =>
    view.nodes.some((node) => node.metadata?.name === metadata.name && isNodeReady(node)),
  );
  return [
    counted("OffloadingVirtualNodeStatus", "VirtualNodes", working, virtualNodes),
    counted("OffloadingNodeStatus", "Nodes", ready, withNode),
  ];
}

/** No pod at all counts as ready: a virtual node's process may run elsewhere. */
function isProcessReady(view: PeerView, virtualNode: VirtualNode): boolean {
  return view.virtualKubeletPods(virtualNode).every(isPodReady);
}

function isPodReady({ status }: Pod): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

function counted(
  type: "OffloadingVirtualNodeStatus" | "OffloadingNodeStatus",
  what: "VirtualNodes" | "Nodes",
  ready: readonly VirtualNode[],
  all: readonly VirtualNode[],
): ConditionFinding {
  const message = `${ready.length} of ${all.length} ready`;
  if (ready.length === all.length) return { type, status: "Ready", reason: `${what}Ready`, message };
  if (ready.length === 0) return { type, status: "NotReady", reason: `${what}NotReady`, message };
  return { type, status: "SomeNotReady", reason: `${what}SomeNotReady`, message };
}
