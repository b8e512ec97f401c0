import type { Namespace, PersistentVolume } from "kubernetes-types/core/v1";
import {
  ForeignClusterResource,
  Labels,
  NamespaceMapResource,
  NamespaceOffloadingResource,
  Names,
  VirtualNodeResource,
  type ForeignCluster,
  type NamespaceMap,
  type NamespaceOffloading,
  type VirtualNode,
} from "../../api/index.js";
import {
  isDeleting,
  NamespaceResource,
  PersistentVolumeResource,
  type Informer,
  type SharedInformers,
} from "../../runtime/index.js";
import { lossOf, mayDeleteRemoteData, remoteDataOf } from "../../storage/remote-data.js";
import { isDeadPeer } from "./peer-state.js";

/** What is looked at to tell what would be lost with a cluster's NamespaceMap. */
export type LossInformers = {
  virtualNodes: Informer<VirtualNode>;
  maps: Informer<NamespaceMap>;
  offloadings: Informer<NamespaceOffloading>;
  namespaces: Informer<Namespace>;
  foreignClusters: Informer<ForeignCluster>;
  volumes: Informer<PersistentVolume>;
};

export function lossInformers(informers: SharedInformers): LossInformers {
  return {
    virtualNodes: informers.for(VirtualNodeResource),
    maps: informers.for(NamespaceMapResource),
    offloadings: informers.for(NamespaceOffloadingResource),
    namespaces: informers.for(NamespaceResource),
    foreignClusters: informers.for(ForeignClusterResource),
    volumes: informers.for(PersistentVolumeResource),
  };
}

/**
 * What of users' data would be deleted if these virtual nodes of one cluster ended, a sentence for each namespace. The last one takes the NamespaceMap along, and with it
 * all namespaces at the provider: what users have stored there goes by their word alone, as when an offloading ends (offloading specification, §12.11).
 * Nothing is kept for a cluster that is gone for good, nor where the tenant namespace, or the users' own one, is being deleted anyway.
 */
export function lossesWithout(ending: readonly VirtualNode[], known: LossInformers): string[] {
  const [{ metadata, spec } = {}] = ending;
  const [tenantNamespace = "", clusterID = ""] = [metadata?.namespace, spec?.clusterID];
  const tenant = known.namespaces.get(tenantNamespace);
  const map = known.maps.find(tenantNamespace, clusterID);
  if (!tenant || isDeleting(tenant) || !map || isDeleting(map)) return [];
  if (map.metadata.labels?.[Labels.replicated] === "true") return [];
  if (isDeadPeer(known.foreignClusters.get(clusterID)) || !areLast(ending, clusterID, known.virtualNodes)) return [];
  return Object.keys(map.spec.desiredMapping ?? {})
    .sort()
    .flatMap((namespace) => lossesOf(namespace, clusterID, known));
}

function areLast(ending: readonly VirtualNode[], clusterID: string, virtualNodes: Informer<VirtualNode>): boolean {
  const uids = ending.map(({ metadata }) => metadata.uid);
  const others = virtualNodes
    .list()
    .filter(({ spec, metadata }) => spec.clusterID === clusterID && !uids.includes(metadata.uid));
  return others.every(isDeleting);
}

function lossesOf(namespace: string, clusterID: string, known: LossInformers): string[] {
  const owner = known.namespaces.get(namespace);
  if (!owner || isDeleting(owner)) return [];
  const offloading = known.offloadings.find(namespace, Names.namespaceOffloading);
  if (offloading && mayDeleteRemoteData(offloading)) return [];
  return remoteDataOf(namespace, known.volumes.list())
    .filter((data) => data.clusterID === clusterID)
    .map((data) => `namespace ${namespace}: ${lossOf(data)}`);
}
