import { Labels } from "../../api/index.js";
import { isReplicationSource } from "../authentication/lookups.js";
import type { ReplicatedObject } from "./kinds.js";

/** Both ends of a reflector: this cluster, and the provider that it sends to. */
export interface ReplicationRoute {
  localClusterID: string;
  remoteClusterID: string;
  localNamespace: string;
  remoteNamespace: string;
}

/** What selects the copies that this cluster made in a provider's namespace. */
export function copySelector(localClusterID: string): string {
  return `${Labels.originID}=${localClusterID},${Labels.replicated}=true`;
}

/** Whether the object asks to be replicated, to whatever cluster. A copy never does. */
export function asksForReplication(object: ReplicatedObject): boolean {
  return isReplicationSource(object);
}

/** Whether the object is a copy that this cluster made. */
export function isOwnCopy({ metadata }: ReplicatedObject, localClusterID: string): boolean {
  return metadata.labels?.[Labels.originID] === localClusterID && metadata.labels[Labels.replicated] === "true";
}

/** The copy of a source: its labels with the peer's point of view, all annotations, its spec (control plane specification, §9). */
export function copyOf(source: ReplicatedObject, route: ReplicationRoute): ReplicatedObject {
  const labels: Record<string, string> = {
    ...source.metadata.labels,
    [Labels.replication]: "false",
    [Labels.replicated]: "true",
    [Labels.originID]: route.localClusterID,
    [Labels.remoteClusterID]: route.localClusterID,
  };
  delete labels[Labels.ownership];
  return {
    apiVersion: source.apiVersion,
    kind: source.kind,
    metadata: {
      name: source.metadata.name,
      namespace: route.remoteNamespace,
      labels,
      annotations: source.metadata.annotations,
    },
    spec: source.spec,
  };
}
