import type { Node } from "kubernetes-types/core/v1";
import {
  Annotations,
  canonicalQuantity,
  Labels,
  quantitiesEqual,
  resourceListsEqual,
  type ResourceList,
  type ResourceSlice,
  type ResourceSliceConditionType,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { findCondition } from "../../../agent/runtime/index.js";
import type { Verdict } from "../../waits/index.js";

/** What the consumer asks its provider for; the agents fill in the rest. */
export function sliceManifest(
  ids: { consumerId: string; providerId: string; namespace: string },
  name: string,
  {
    class: sliceClass,
    resources,
    createVirtualNode,
  }: { class: string; resources: Record<string, string>; createVirtualNode: boolean },
): { metadata: ResourceSlice["metadata"]; spec: ResourceSlice["spec"] } {
  return {
    metadata: {
      name,
      namespace: ids.namespace,
      labels: {
        [Labels.replication]: "true",
        [Labels.remoteID]: ids.providerId,
        [Labels.remoteClusterID]: ids.providerId,
      },
      ...(createVirtualNode ? { annotations: { [Annotations.createVirtualNode]: "true" } } : {}),
    },
    spec: { consumerClusterID: ids.consumerId, providerClusterID: ids.providerId, class: sliceClass, resources },
  };
}

/** Whether the condition of this type has come, and how. */
export function judgeCondition(slice: ResourceSlice | undefined, type: ResourceSliceConditionType): Verdict<void> {
  if (!slice) return { failed: "the ResourceSlice was deleted meanwhile" };
  const condition = findCondition(slice.status?.conditions, type);
  if (condition?.status === "Accepted") return { done: undefined };
  if (condition?.status === "Denied")
    return { failed: `denied: ${condition.message || condition.reason || "no reason given"}` };
  return { waiting: waitingFor(slice, type) };
}

/** What was granted, once it answers the present request: the built-in class grants what is asked for, others may give less. */
export function judgeGrant(slice: ResourceSlice | undefined): Verdict<Record<string, string>> {
  const verdict = judgeCondition(slice, "Resources");
  if (!slice || !("done" in verdict)) return verdict as Verdict<Record<string, string>>;
  const granted = slice.status?.resources ?? {};
  if (isBuiltIn(slice.spec.class)) {
    const behind = Object.entries(slice.spec.resources ?? {}).filter(
      ([name, quantity]) => granted[name] === undefined || !quantitiesEqual(granted[name], quantity),
    );
    if (behind.length > 0)
      return { waiting: `the grant of ${behind.map(([name]) => name).join(", ")} is not up to date yet` };
  }
  return { done: textual(granted) };
}

/** Whether the VirtualNode offers what was granted. */
export function judgeVirtualNode(virtualNode: VirtualNode | undefined, granted: ResourceList): Verdict<VirtualNode> {
  if (!virtualNode) return { waiting: "the agent has not made it yet" };
  if (resourceListsEqual(virtualNode.spec.resourceQuota?.hard, granted)) return { done: virtualNode };
  return { waiting: "it does not offer what was granted yet" };
}

/** Whether the Node is ready and offers what was granted. */
export function judgeNode(node: Node | undefined, granted: ResourceList): Verdict<void> {
  if (!node) return { waiting: "the virtual node's process has not registered it yet" };
  const allocatable = (node.status?.allocatable ?? {}) as ResourceList;
  const behind = Object.entries(granted).filter(
    ([name, quantity]) => allocatable[name] === undefined || !quantitiesEqual(allocatable[name], quantity),
  );
  if (behind.length > 0)
    return { waiting: `its allocatable ${behind.map(([name]) => name).join(", ")} is not up to date yet` };
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "True") return { done: undefined };
  const network = node.status?.conditions?.find(
    ({ type, status }) => type === "NetworkUnavailable" && status === "True",
  );
  return {
    waiting: network
      ? "the network between the clusters is not up"
      : `it is not ready: ${ready?.message ?? ready?.reason ?? ""}`,
  };
}

export function isBuiltIn(sliceClass: string | undefined): boolean {
  return !sliceClass || sliceClass === "default";
}

/** Quantities in their canonical form. */
export function textual(resources: ResourceList): Record<string, string> {
  return Object.fromEntries(Object.entries(resources).map(([name, quantity]) => [name, canonicalQuantity(quantity)]));
}

function waitingFor(slice: ResourceSlice, type: ResourceSliceConditionType): string {
  if (!slice.spec.csr) return "the consumer's agent has not signed its request yet";
  if (type === "Resources" && !isBuiltIn(slice.spec.class)) {
    return `the provider's controller of class ${slice.spec.class ?? ""} has not decided yet`;
  }
  return "the provider has not answered yet";
}
