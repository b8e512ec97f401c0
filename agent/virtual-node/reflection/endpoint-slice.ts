import type { Endpoint, EndpointSlice } from "kubernetes-types/discovery/v1";
import {
  Annotations,
  LabelValues,
  Labels,
  ShadowEndpointSliceResource,
  cidrContainsAddress,
  isIPv4,
  type ShadowEndpointSlice,
} from "../../api/index.js";
import { EndpointSliceResource } from "../../runtime/index.js";
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
  accepts: (slice, { local, policy, pair }) => {
    const serviceName = slice.metadata?.labels?.[SERVICE_NAME_LABEL];
    if (pair.local === "default" && serviceName === "kubernetes") return false;
    const service = serviceName ? local.services.find(pair.local, serviceName) : undefined;
    return isSliceReflectable(slice.metadata?.annotations, service?.metadata?.annotations, policy);
  },
  metadata: ({ labels }) => {
    // The provider's own slice controllers leave alone what is managed by another.
    labels[MANAGED_BY_LABEL] = LabelValues.endpointSliceManager;
  },
  forge: (slice, scope) => ({
    spec: {
      template: {
        addressType: slice.addressType,
        endpoints: remoteEndpoints(slice, translationOf(scope)),
        ports: slice.ports ?? [],
      },
    },
  }),
};

/** How endpoints are seen from the provider. */
export interface EndpointTranslation {
  homeClusterId: string;
  foreignClusterId: string;
  /** The cluster that a node stands for; "" for a node of this cluster; undefined for one that is not there. */
  clusterOfNode: (nodeName: string) => string | undefined;
  /** The address by which the provider may ask for it; undefined while there is none. */
  translate: (address: string) => string | undefined;
}

/**
 * Endpoints that the provider does not have by itself: all but those on its own virtual nodes. An endpoint without an
 * address for the provider is left out until it gets one.
 */
export function remoteEndpoints(slice: EndpointSlice, translation: EndpointTranslation): Endpoint[] {
  return (slice.endpoints ?? []).flatMap((endpoint) => {
    if (!isForProvider(endpoint, translation)) return [];
    const addresses = endpoint.addresses.flatMap((address) => translation.translate(address) ?? []);
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

function isForProvider({ nodeName }: Endpoint, { clusterOfNode, foreignClusterId }: EndpointTranslation): boolean {
  if (!nodeName) return true;
  const cluster = clusterOfNode(nodeName);
  return cluster !== undefined && cluster !== foreignClusterId;
}

function translationOf({ context, local, pair }: ReflectionScope): EndpointTranslation {
  const { config, state } = context;
  return {
    homeClusterId: config.homeClusterId,
    foreignClusterId: config.foreignClusterId,
    clusterOfNode: (name) => {
      const node = local.nodes.get(name);
      return node && (node.metadata?.labels?.[Labels.remoteClusterID] ?? "");
    },
    translate: (address) => {
      if (!isIPv4(address)) return undefined;
      // Pod addresses are remapped by the provider itself; without a network there is nothing to remap.
      const isPod = config.localPodCidrs.some((cidr) => cidrContainsAddress(cidr, address));
      if (isPod || config.localPodCidrs.length === 0 || !state.networkingEnabled) return address;
      return local.ips.inNamespace(pair.local).find(({ spec }) => spec.ip === address)?.status?.ip;
    },
  };
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
