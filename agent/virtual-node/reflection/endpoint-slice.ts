import type { Node, Service } from "kubernetes-types/core/v1";
import type { Endpoint, EndpointSlice } from "kubernetes-types/discovery/v1";
import {
  Annotations,
  LabelValues,
  Labels,
  ShadowEndpointSliceResource,
  cidrContainsAddress,
  isIPv4,
  unmapRemoteAddress,
  type ShadowEndpointSlice,
} from "../../api/index.js";
import { EndpointSliceResource, ServiceResource } from "../../runtime/index.js";
import { asksForDirectConnections, directConnections, type DirectConnections } from "./direct-connections.js";
import type { ReflectedKind, ReflectionScope } from "./reflected-kind.js";
import { isSet, type ReflectionPolicy } from "./reflected-metadata.js";

const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
const MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by";

/** EndpointSlices, as ShadowEndpointSlices: the provider makes slices of them with its own addresses (offloading specification, §8.6). */
export const endpointSliceKind: ReflectedKind<EndpointSlice, ShadowEndpointSlice> = {
  name: "endpointslice",
  local: EndpointSliceResource,
  remote: ShadowEndpointSliceResource,
  replaceable: true,
  accepts: (slice, scope) => {
    const { context, pair, policy, local } = scope;
    const serviceName = slice.metadata?.labels?.[SERVICE_NAME_LABEL];
    if (pair.local === "default" && serviceName === "kubernetes") return false;
    // What its Service says, and which addresses are lent to peers, cannot be told yet.
    if (!local.services.hasSynced || !local.ips.hasSynced) return "leave";
    const service = serviceOf(slice, scope);
    // Whatever its annotations: it would lead nowhere without its Service.
    if (serviceName && !service && context.config.reflection["endpointslice"]?.selector) return false;
    return isSliceReflectable(slice.metadata?.annotations, service?.metadata?.annotations, policy);
  },
  metadata: ({ labels, annotations }, slice, scope) => {
    // The provider's own slice controllers leave alone what is managed by another.
    labels[MANAGED_BY_LABEL] = LabelValues.endpointSliceManager;
    // Nobody else may say which cluster an address is of.
    delete annotations[Annotations.directConnectionsData];
    const data = directConnectionsOf(slice, scope)?.data;
    if (data) annotations[Annotations.directConnectionsData] = data;
  },
  remark: (slice, scope) => {
    const service = serviceOf(slice, scope);
    const message = directConnectionsOf(slice, scope)?.problem;
    return service && message
      ? { type: ServiceResource, object: service, reason: "IndirectConnection", message }
      : undefined;
  },
  forge: (slice, scope) => ({
    spec: {
      template: {
        addressType: slice.addressType,
        endpoints: remoteEndpoints(slice, translationOf(slice, scope)),
        ports: slice.ports ?? [],
      },
    },
  }),
};

/** How endpoints are seen from the provider. */
export interface EndpointTranslation {
  homeClusterId: string;
  /** The cluster that an endpoint is in; undefined for one that is none for the provider. */
  clusterOf: (endpoint: Endpoint) => string | undefined;
  /** The address, of a cluster, by which the provider may ask for it; undefined while there is none. */
  translate: (address: string, clusterId: string) => string | undefined;
}

/** Endpoints for the provider. One without an address for it is left out until it gets one. */
export function remoteEndpoints(slice: EndpointSlice, translation: EndpointTranslation): Endpoint[] {
  return (slice.endpoints ?? []).flatMap((endpoint) => {
    const cluster = translation.clusterOf(endpoint);
    if (cluster === undefined) return [];
    const addresses = endpoint.addresses.flatMap((address) => translation.translate(address, cluster) ?? []);
    if (addresses.length === 0) return [];
    const { hostname, zone, hints, targetRef, conditions } = endpoint;
    return {
      addresses,
      nodeName: translation.homeClusterId,
      ...(conditions ? { conditions } : {}),
      ...(hostname === undefined ? {} : { hostname }),
      ...(zone === undefined ? {} : { zone }),
      ...(hints ? { hints } : {}),
      ...(targetRef ? { targetRef: { ...targetRef, kind: `Remote${targetRef.kind ?? ""}` } } : {}),
    };
  });
}

/**
 * The cluster of an endpoint: this one, unless its node stands for another. Undefined for what the provider has by itself, all that
 * is on its own virtual nodes, and for what is on a node that is not there.
 */
export function clusterOfEndpoint(
  { nodeName }: Endpoint,
  { homeClusterId, foreignClusterId }: { homeClusterId: string; foreignClusterId: string },
  nodeOf: (name: string) => Node | undefined,
): string | undefined {
  if (!nodeName) return homeClusterId;
  const node = nodeOf(nodeName);
  if (!node) return undefined;
  const cluster = node.metadata?.labels?.[Labels.remoteClusterID] || homeClusterId;
  return cluster === foreignClusterId ? undefined : cluster;
}

function translationOf(slice: EndpointSlice, scope: ReflectionScope): EndpointTranslation {
  const direct = directConnectionsOf(slice, scope);
  return {
    homeClusterId: scope.context.config.homeClusterId,
    clusterOf: clustersIn(scope),
    translate: (address, cluster) =>
      isIPv4(address) ? (direct?.addressOf(address, cluster) ?? addressThroughHere(address, scope)) : undefined,
  };
}

function clustersIn({ context, local }: ReflectionScope): (endpoint: Endpoint) => string | undefined {
  return (endpoint) => clusterOfEndpoint(endpoint, context.config, (name) => local.nodes.get(name));
}

/** The address by which the provider reaches what this cluster knows by the given one; undefined while there is none. */
function addressThroughHere(address: string, { context, local, pair }: ReflectionScope): string | undefined {
  const { config, state } = context;
  // Pod addresses are remapped by the provider itself; without a network there is nothing to remap.
  const isPod = config.localPodCidrs.some((cidr) => cidrContainsAddress(cidr, address));
  if (isPod || config.localPodCidrs.length === 0 || !state.networkingEnabled) return address;
  return local.ips.inNamespace(pair.local).find(({ spec }) => spec.ip === address)?.status?.ip;
}

/** Undefined unless the slice's Service asks for them. */
function directConnectionsOf(slice: EndpointSlice, scope: ReflectionScope): DirectConnections | undefined {
  if (!asksForDirectConnections(serviceOf(slice, scope))) return undefined;
  const { config, state } = scope.context;
  return directConnections(slice, {
    homeClusterId: config.homeClusterId,
    clusterOf: clustersIn(scope),
    ownAddress: (address, clusterId) => {
      const configuration = state.configurationOf(clusterId);
      return configuration ? unmapRemoteAddress(configuration, address) : address;
    },
  });
}

function serviceOf({ metadata }: EndpointSlice, { local, pair }: ReflectionScope): Service | undefined {
  const name = metadata?.labels?.[SERVICE_NAME_LABEL];
  return name ? local.services.find(pair.local, name) : undefined;
}

/** A slice's own annotation beats its Service's. @throws Error when one object asks for both */
export function isSliceReflectable(
  slice: Record<string, string> | undefined,
  service: Record<string, string> | undefined,
  policy: ReflectionPolicy,
): boolean {
  return wishOf(slice) ?? wishOf(service) ?? policy === "DenyList";
}

function wishOf(annotations: Record<string, string> = {}): boolean | undefined {
  const skip = isSet(annotations[Annotations.skipReflection]);
  const allow = isSet(annotations[Annotations.allowReflection]);
  if (skip && allow) {
    throw new Error(
      `annotations ${Annotations.skipReflection} and ${Annotations.allowReflection} contradict each other: remove one`,
    );
  }
  return skip ? false : allow ? true : undefined;
}
