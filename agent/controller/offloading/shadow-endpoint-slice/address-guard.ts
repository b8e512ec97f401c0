import { SocketAddress } from "node:net";
import type { Node } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import {
  Labels,
  NetworkType,
  cidrContainsAddress,
  isIPv4,
  remoteRangePairs,
  type Configuration,
  type Network,
} from "../../../api/index.js";

/** What there is in this cluster, and around it, that consumers' endpoints must not lead to. */
export interface GuardInputs {
  /** The installation's Networks. */
  networks: Network[];
  /** Of all peers. */
  configurations: Configuration[];
  /** Whether a node, or an API server, has an address, written as canonicalAddress does. */
  isHost: (address: string) => boolean;
}

/**
 * Tells whether an endpoint may have an address, by the clusters for which it is named. What a consumer's Services lead to is asked for by this cluster's own pods
 * and ingress controllers, which reach more than the consumer may: nodes, API servers, pods and Services of this cluster, and other peers' pods.
 */
export type AddressGuard = (address: string, clusterIDs: readonly string[]) => boolean;

export function addressGuard({ networks, configurations, isHost }: GuardInputs): AddressGuard {
  const own = networks.flatMap((network) => (isGuarded(network) ? rangesOf(network) : []));
  const peers = configurations.map((configuration) => ({
    clusterID: configuration.metadata.labels?.[Labels.remoteClusterID] ?? "",
    ranges: remoteRangePairs(configuration).map(([, mapped]) => mapped),
  }));
  return (address, clusterIDs) => {
    if (isHost(canonicalAddress(address))) return false;
    if (!isIPv4(address)) return true;
    const has = (ranges: string[]): boolean => ranges.some((range) => cidrContainsAddress(range, address));
    const owners = peers.filter(({ ranges }) => has(ranges)).map(({ clusterID }) => clusterID);
    if (owners.some((owner) => clusterIDs.includes(owner))) return true;
    return owners.length === 0 && !has(own);
  };
}

/** The addresses of a node by which it can be asked. */
export function addressesOfNode({ status }: Node): string[] {
  return (status?.addresses ?? []).map(({ address }) => canonicalAddress(address));
}

export function addressesOfSlice({ endpoints }: EndpointSlice): string[] {
  return (endpoints ?? []).flatMap(({ addresses }) => addresses).map(canonicalAddress);
}

/** One spelling for each address of IPv6, and names in lower case. */
function canonicalAddress(address: string): string {
  if (!address.includes(":")) return address.toLowerCase();
  try {
    return new SocketAddress({ address, family: "ipv6" }).address;
  } catch {
    return address;
  }
}

function isGuarded({ metadata }: Network): boolean {
  const type = metadata.labels?.[Labels.networkType];
  return type === NetworkType.pod || type === NetworkType.service;
}

function rangesOf({ spec, status }: Network): string[] {
  return [spec.cidr, ...(status?.cidr ? [status.cidr] : [])];
}
