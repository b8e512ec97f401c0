import { VirtualNodeResource, type VirtualNode } from "../../api/index.js";
import {
  describeObject,
  isDeleting,
  isRefused,
  messageOf,
  type EventRecorder,
  type Informer,
  type KubeClient,
  type KubeObject,
} from "../../runtime/index.js";
import type { ReplicatedKind, ReplicatedObject } from "./kinds.js";

/**
 * How long after a slice's deletion its virtual nodes are waited for: twice a drain's own deadline, for pods that then take their time to end. What is
 * still there then is held by somebody else, or nobody looks after it, and must not keep the peering from ending.
 */
export const NODES_LIMIT_MS = 10 * 60 * 1000;

export interface NodesContext {
  localClient: KubeClient;
  virtualNodes: Informer<VirtualNode>;
  events: EventRecorder;
}

/** UIDs of what owns an object. */
export function ownersOf({ metadata }: KubeObject): string[] {
  return (metadata?.ownerReferences ?? []).map(({ uid }) => uid);
}

/**
 * Ends the virtual nodes that a deleted slice owns, and tells for how many more milliseconds they may be waited for; undefined once they are gone, or
 * have taken too long. Kubernetes would collect them only after the slice, when their pods have lost identity and quota (control plane specification,
 * §14). Virtual nodes that were made by hand are their maker's, though they work with the slice's identity: neither deleted nor waited for.
 */
export async function endNodesOf(
  { localClient, virtualNodes, events }: NodesContext,
  type: ReplicatedKind,
  slice: ReplicatedObject,
  now = Date.now(),
): Promise<number | undefined> {
  const { namespace = "", uid = "", deletionTimestamp } = slice.metadata;
  if (!deletionTimestamp) return undefined;
  const owned = virtualNodes.inNamespace(namespace).filter((virtualNode) => ownersOf(virtualNode).includes(uid));
  if (owned.length === 0) return undefined;
  for (const virtualNode of owned.filter((one) => !isDeleting(one))) {
    const { name = "", uid } = virtualNode.metadata;
    try {
      await localClient.delete(VirtualNodeResource, { name, namespace }, { uid });
    } catch (error) {
      // As for data that would be lost, where the slice's own end has passed admission by. The next pass asks again.
      if (isRefused(error)) events.warning(type, slice, "VirtualNodeKept", messageOf(error));
      throw error;
    }
  }
  const names = owned
    .map(({ metadata }) => describeObject(VirtualNodeResource, metadata.name ?? "", namespace))
    .join(", ");
  const left = Date.parse(deletionTimestamp) + NODES_LIMIT_MS - now;
  if (left > 0) {
    events.normal(type, slice, "WaitingForVirtualNodes", `given back to the provider once these are gone: ${names}`);
    return left;
  }
  const message = `given back to the provider although these are still there, ${NODES_LIMIT_MS / 60_000} minutes after its deletion: ${names}`;
  events.warning(type, slice, "VirtualNodesLeft", message);
  return undefined;
}
