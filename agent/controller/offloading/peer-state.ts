import { Annotations, type ForeignCluster } from "../../api/index.js";
import { findCondition } from "../../runtime/index.js";

/**
 * Whether a peer is gone for good: an administrator marked it as permanently unreachable and it does not answer (control plane
 * specification, §15).
 */
export function isDeadPeer(foreignCluster: ForeignCluster | undefined): boolean {
  if (!foreignCluster) return false;
  const marked = foreignCluster.metadata.annotations?.[Annotations.permanentlyUnreachable] === "true";
  return marked && findCondition(foreignCluster.status?.conditions, "APIServerStatus")?.status !== "Established";
}

/**
 * Whether the pods of a peer can be reached: its tunnel is up, if there is to be one, and its API server is not known to be down. A
 * provider need not know its consumer's API server: then only the tunnel counts.
 */
export function isPeerReachable(foreignCluster: ForeignCluster | undefined): boolean {
  const status = foreignCluster?.status;
  if (!status) return true;
  const apiServer = findCondition(status.conditions, "APIServerStatus")?.status;
  if (apiServer === "Error") return false;
  const { enabled, conditions } = status.modules.networking;
  return !enabled || findCondition(conditions, "NetworkConnectionStatus")?.status === "Established";
}
