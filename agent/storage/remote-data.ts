import type { PersistentVolume } from "kubernetes-types/core/v1";
import { Annotations, Labels, type NamespaceOffloading } from "../api/index.js";
import { isDeleting } from "../runtime/index.js";
import { isVirtualVolume, liesWith } from "./virtual-volume.js";

/** What is in other clusters of one namespace, and goes when the namespace there does. */
export interface RemoteData {
  clusterID: string;
  /** Names of the claims, in their order. */
  claims: string[];
  /** Names of the volumes that are kept though their claims have gone, in their order. */
  volumes: string[];
}

/**
 * What of a namespace is in other clusters, by cluster. A claim that has gone has given its data up, unless its volume was to be retained: that keeps the data as
 * long as it is there.
 */
export function remoteDataOf(namespace: string, volumes: readonly PersistentVolume[]): RemoteData[] {
  const found = new Map<string, RemoteData>();
  for (const volume of volumes) {
    const { claimRef } = volume.spec ?? {};
    const clusterID = volume.metadata?.labels?.[Labels.remoteClusterID];
    if (!clusterID || claimRef?.namespace !== namespace || !isVirtualVolume(volume)) continue;
    if (!liesWith(volume, clusterID) || isDeleting(volume)) continue;
    const isReleased = volume.status?.phase === "Released";
    if (isReleased && volume.spec?.persistentVolumeReclaimPolicy !== "Retain") continue;
    const data = found.get(clusterID) ?? { clusterID, claims: [], volumes: [] };
    if (isReleased) data.volumes.push(volume.metadata?.name ?? "");
    else data.claims.push(claimRef.name ?? "");
    found.set(clusterID, data);
  }
  return [...found.values()].map((data) => ({ ...data, claims: data.claims.sort(), volumes: data.volumes.sort() }));
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
export function lossOf({ clusterID, claims, volumes }: RemoteData): string {
  const [ofClaims, ofVolumes] = [named("claim", claims), named("retained volume", volumes)];
  const kinds = [...(claims.length > 0 ? ["claims"] : []), ...(volumes.length > 0 ? ["volumes"] : [])];
  return (
    `the data of ${[...ofClaims, ...ofVolumes].join(" and ")} is in cluster ${clusterID} and would be deleted with the namespace there: ` +
    `copy what is needed and delete the ${kinds.join(" and ")}, or agree by the annotation ${Annotations.deleteRemoteVolumes}="true" on the NamespaceOffloading (deleteRemoteVolumes of the Pulumi resource)`
  );
}

function named(kind: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const listed = names.slice(0, 5).join(", ") + (names.length > 5 ? `, and ${names.length - 5} more` : "");
  return [`${kind}${names.length === 1 ? "" : "s"} ${listed}`];
}
