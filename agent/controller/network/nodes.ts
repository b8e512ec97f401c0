import type { Node } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../api/index.js";
import { insideAddresses, NodeResource, type Informer, type KubeClient } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";

/** Nodes that have a network of their own. */
export const PHYSICAL_NODES = `${Labels.type}!=${LabelValues.virtualNodeType}`;

export function physicalNodes({ informers }: Pick<ControllerContext, "informers">): Informer<Node> {
  return informers.for(NodeResource, { labelSelector: PHYSICAL_NODES });
}

/** By which the nodes reach each other: no range of another cluster may be called so, or they would reach it there. IPv4 ones, as ranges are. */
export async function nodeAddresses(client: KubeClient, signal?: AbortSignal): Promise<string[]> {
  const { items } = await client.list(NodeResource, { labelSelector: PHYSICAL_NODES, signal });
  return items.flatMap(insideAddresses);
}
