import { Labels, ResourceSliceResource, TenantResource, VirtualNodeResource } from "../../../agent/api/index.js";
import {
  isDeleting,
  isForbidden,
  isNotFound,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { ifVisible, waitFor, withLimit, type Progress, type Verdict } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";

/** Deletions of one `pulumi destroy` begin together: a virtual node that is not being deleted within this time is to stay. */
const NOTICE_MS = 2_000;

/**
 * Lets virtual nodes over this link that are going go first, so that their pods leave with the network still there. Nodes that are to stay are no
 * reason to wait.
 */
export async function waitForDepartingNodes(progress: Progress, end: LinkEnd): Promise<void> {
  const request = (judge: (objects: KubeObject[]) => Verdict<boolean>) => ({
    client: end.client,
    type: VirtualNodeResource as ResourceType,
    namespace: end.namespace,
    labelSelector: { [Labels.remoteClusterID]: end.remoteId },
    what: `the end of the virtual nodes of ${end.remoteId}`,
    judge,
  });
  try {
    const isDeparting = await waitFor(withLimit(progress, NOTICE_MS), request(judgeNotice));
    if (!isDeparting) return;
    await waitFor(
      progress,
      request((nodes) => (nodes.length === 0 ? { done: true } : { waiting: "their pods are moving" })),
    );
  } catch (error) {
    if (progress.signal.aborted) throw error;
    if (isNotFound(error) || isForbidden(error)) return;
    progress.log("warning", `${end.side}: virtual nodes of ${end.remoteId} stay; their pods lose this network`);
  }
}

function judgeNotice(nodes: readonly KubeObject[]): Verdict<boolean> {
  if (nodes.length === 0) return { done: false };
  return nodes.some(isDeleting) ? { done: true } : { waiting: "they are not being deleted" };
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
