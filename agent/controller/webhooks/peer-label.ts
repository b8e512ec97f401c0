import { Labels, isClusterID } from "../../api/index.js";
import { isDeleting, type KubeObject } from "../../runtime/index.js";

/** What every object of a link is found by, and why it cannot be. Empty when it can. */
export function peerLabelProblems({ metadata }: KubeObject, ownClusterID: string): string[] {
  const path = `metadata.labels[${Labels.remoteClusterID}]`;
  const remote = metadata?.labels?.[Labels.remoteClusterID];
  if (!remote) return [`${path}: is missing: it says which cluster is at the other end`];
  if (!isClusterID(remote)) return [`${path}: "${remote}" is not a cluster ID`];
  return remote === ownClusterID ? [`${path}: "${remote}" is this cluster itself`] : [];
}

/** Those for the same cluster that stay. */
export function othersForPeer<T extends KubeObject>(object: KubeObject, candidates: readonly T[]): T[] {
  const { name, namespace, labels } = object.metadata ?? {};
  const remote = labels?.[Labels.remoteClusterID];
  return candidates.filter(
    (other) =>
      other.metadata?.labels?.[Labels.remoteClusterID] === remote &&
      !isDeleting(other) &&
      !(other.kind === object.kind && other.metadata?.name === name && other.metadata?.namespace === namespace),
  );
}
