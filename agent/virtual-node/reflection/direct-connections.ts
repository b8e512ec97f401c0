import type { Service } from "kubernetes-types/core/v1";
import type { Endpoint, EndpointSlice } from "kubernetes-types/discovery/v1";
import { Annotations, isIPv4 } from "../../api/index.js";

/** So many bytes may keys and values of an object's annotations have together; its API server refuses more. */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

/** What is known here of a slice's endpoints. */
export interface EndpointOrigins {
  homeClusterId: string;
  /** The cluster that has an endpoint; undefined for one that is left out of the copy. */
  clusterOf: (endpoint: Endpoint) => string | undefined;
  /** An address of another cluster, known here by the given one, as that cluster itself calls it. */
  ownAddress: (address: string, clusterId: string) => string;
}

/** How the endpoints of a slice are told to a provider that reaches those at other providers without this cluster in between. */
export interface DirectConnections {
  /** The value of annotation liqo.io/direct-connections-data; undefined when no endpoint is at another provider. */
  data?: string;
  /** The address to tell; undefined: the one by which the endpoint is reached through this cluster. */
  addressOf: (address: string, clusterId: string) => string | undefined;
  /** What its owner should know: why endpoints are reached through this cluster nevertheless. */
  problem?: string;
}

/** Whether the endpoints of a Service are to be told as they are (offloading specification, §8.6). */
export function asksForDirectConnections(service: Service | undefined): boolean {
  return service?.metadata?.annotations?.[Annotations.useDirectConnections]?.toLowerCase() === "true";
}

/**
 * Addresses of other providers are told as those call them, since the provider translates them by its own Configuration of that
 * cluster; all others as they are here. The provider knows an address's cluster by the address alone: one that several
 * clusters have, as clusters with equal ranges may, is reached through this cluster. So is everything if the data finds
 * no room among the annotations.
 */
export function directConnections(slice: EndpointSlice, origins: EndpointOrigins): DirectConnections {
  const isThird = (cluster: string): boolean => cluster !== origins.homeClusterId;
  const told = (address: string, cluster: string): string =>
    isThird(cluster) ? origins.ownAddress(address, cluster) : address;
  const owners = ownersOf(slice, origins, told);
  const isShared = (address: string): boolean => (owners.get(address)?.size ?? 0) > 1;

  const clusterAddresses: Record<string, string[]> = {};
  const shared: string[] = [];
  for (const [address, clusters] of owners) {
    const thirds = [...clusters].filter(isThird);
    if (thirds.length === 0) continue;
    if (isShared(address)) shared.push(`${address} (${[...clusters].join(", ")})`);
    else for (const cluster of thirds) (clusterAddresses[cluster] ??= []).push(address);
  }
  const data = Object.keys(clusterAddresses).length > 0 ? JSON.stringify({ clusterAddresses }) : undefined;
  if (data && !fits(slice, data)) return { addressOf: () => undefined, problem: tooLarge(slice) };
  return {
    data,
    addressOf: (address, cluster) => {
      const own = told(address, cluster);
      return isThird(cluster) && isShared(own) ? undefined : own;
    },
    ...(shared.length > 0 ? { problem: ambiguous(slice, shared) } : {}),
  };
}

/** The clusters that have each address told of a slice. */
function ownersOf(
  slice: EndpointSlice,
  { clusterOf }: EndpointOrigins,
  told: (address: string, clusterId: string) => string,
): Map<string, Set<string>> {
  const owners = new Map<string, Set<string>>();
  for (const endpoint of slice.endpoints ?? []) {
    const cluster = clusterOf(endpoint);
    if (cluster === undefined) continue;
    for (const address of endpoint.addresses.filter(isIPv4)) {
      const own = told(address, cluster);
      owners.set(own, (owners.get(own) ?? new Set()).add(cluster));
    }
  }
  return owners;
}

function fits({ metadata }: EndpointSlice, data: string): boolean {
  const others = Object.entries(metadata?.annotations ?? {}).filter(
    ([key]) => key !== Annotations.directConnectionsData,
  );
  const bytes = [...others, [Annotations.directConnectionsData, data]]
    .flat()
    .reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return bytes < ANNOTATIONS_MAX_BYTES;
}

function tooLarge({ metadata }: EndpointSlice): string {
  return (
    `EndpointSlice ${metadata?.name}: its annotations leave no room for the addresses of direct connections (256 KiB altogether). ` +
    "Its endpoints at other providers are reached through this cluster until there are fewer annotations on it"
  );
}

function ambiguous({ metadata }: EndpointSlice, shared: string[]): string {
  return (
    `EndpointSlice ${metadata?.name}: endpoints at other providers are reached through this cluster where several clusters have ` +
    `the same address: ${shared.join("; ")}. Clusters with different pod ranges are always reached directly`
  );
}
