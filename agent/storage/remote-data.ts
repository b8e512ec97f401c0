import type { PersistentVolume } from "kubernetes-types/core/v1";
import { Annotations, Labels, type NamespaceOffloading } from "../api/index.js";
import { isDeleting } from "../runtime/index.js";
import { isVirtualVolume, liesWith } from "./virtual-volume.js";

/** What is in other clusters of one namespace, and goes when the namespace there does. */
export interface RemoteData {
  clusterID: string;
  /** Names of the claims, in their order. */
  claims: string[];
}

/** The claims of a namespace whose data is in other clusters, by cluster. A claim that has gone has given its data up already. */
export function remoteDataOf(namespace: string, volumes: readonly PersistentVolume[]): RemoteData[] {
  const claims = new Map<string, string[]>();
  for (const volume of volumes) {
    const { claimRef } = volume.spec ?? {};
    const clusterID = volume.metadata?.labels?.[Labels.remoteClusterID];
    if (!clusterID || claimRef?.namespace !== namespace || !isVirtualVolume(volume)) continue;
    if (!liesWith(volume, clusterID) || isDeleting(volume) || volume.status?.phase === "Released") continue;
    claims.set(clusterID, [...(claims.get(clusterID) ?? []), claimRef.name ?? ""]);
  }
  return [...claims].map(([clusterID, names]) => ({ clusterID, claims: names.sort() }));
}

/** Whether the user agrees that data in other clusters is deleted with the namespaces there (offloading specification, §12.11). */
export function mayDeleteRemoteData({ metadata }: Pick<NamespaceOffloading, "metadata">): boolean {
  return metadata.annotations?.[Annotations.deleteRemoteVolumes] === "true";
}

/** What is wrong with how that is said: a word that is taken for no by mistake shows only when it is too late to think about it. */
export function agreementProblem({ metadata }: Pick<NamespaceOffloading, "metadata">): string | undefined {
  const text = metadata.annotations?.[Annotations.deleteRemoteVolumes];
  if (text === undefined || text === "true" || text === "false") return undefined;
  return `metadata.annotations[${Annotations.deleteRemoteVolumes}]: "${text}" is neither "true" nor "false"`;
}

/** What stands in the way, and what can be done about it. */
export function lossOf({ clusterID, claims }: RemoteData): string {
  const named = claims.slice(0, 5).join(", ") + (claims.length > 5 ? `, and ${claims.length - 5} more` : "");
  return (
    `the data of ${claims.length === 1 ? "claim" : "claims"} ${named} is in cluster ${clusterID} and would be deleted with the namespace there: ` +
    `copy what is needed and delete the claims, or agree by the annotation ${Annotations.deleteRemoteVolumes}="true" on the NamespaceOffloading (deleteRemoteVolumes of the Pulumi resource)`
  );
}
