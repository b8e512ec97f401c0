import type { Node } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../api/index.js";
import { NodeResource, type Informer } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";

/** Nodes that have a network of their own. */
export const PHYSICAL_NODES = `${Labels.type}!=${LabelValues.virtualNodeType}`;

export function physicalNodes({ informers }: Pick<ControllerContext, "informers">): Informer<Node> {
  return informers.for(NodeResource, { labelSelector: PHYSICAL_NODES });
}

/** The node's address towards pods and other nodes. */
export function internalAddress({ status }: Node): string | undefined {
  return status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
}
