import { Labels, ResourceSliceResource, TenantResource, VirtualNodeResource } from "../../../agent/api/index.js";
import { isDeleting, isForbidden, isNotFound, type ResourceType } from "../../../agent/runtime/index.js";
import { ifVisible, letDepart, type Progress } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";

/**
 * Lets virtual nodes over this link that are going go first, so that their pods leave with the network still there. Nodes that are to stay are no
 * reason to wait.
 */
export async function waitForDepartingNodes(progress: Progress, end: LinkEnd): Promise<void> {
  try {
    const staying = await letDepart(progress, {
      client: end.client,
      type: VirtualNodeResource,
      namespace: end.namespace,
      labelSelector: { [Labels.remoteClusterID]: end.remoteId },
      what: `the end of the virtual nodes of ${end.remoteId}`,
    });
    if (staying.length === 0) return;
  } catch (error) {
    if (progress.signal.aborted) throw error;
    if (isNotFound(error) || isForbidden(error)) return;
  }
  progress.log("warning", `${end.side}: virtual nodes of ${end.remoteId} stay; their pods lose this network`);
}

/** What the other direction has at this end: a consumer gives resources to the remote then, a provider asks it for some. */
export function reverseUses(end: LinkEnd): { type: ResourceType; labelSelector: Record<string, string> } {
  if (end.side === "consumer") {
    return { type: TenantResource, labelSelector: { [Labels.remoteClusterID]: end.remoteId } };
  }
  return {
    type: ResourceSliceResource,
    labelSelector: { [Labels.remoteID]: end.remoteId, [Labels.replication]: "true" },
  };
}

/** Whether any of it is there, and is to stay. */
export async function hasReverseUses(end: LinkEnd, signal: AbortSignal): Promise<boolean> {
  const { type, labelSelector } = reverseUses(end);
  const list = await ifVisible(end.client.list(type, { namespace: end.namespace, labelSelector, signal }));
  return list?.items.some((object) => !isDeleting(object)) ?? false;
}
