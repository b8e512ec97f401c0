import type { Endpoint, EndpointSlice } from "kubernetes-types/discovery/v1";
import {
  Annotations,
  Labels,
  LabelValues,
  mapRemoteAddress,
  ShadowEndpointSliceResource,
  type Configuration,
  type ShadowEndpointSlice,
} from "../../../api/index.js";
import { ownerReference } from "../../../runtime/index.js";
import type { AddressGuard } from "./address-guard.js";

export interface SliceInputs {
  /** Whether the consumer's pods can be reached now. */
  reachable: boolean;
  /** This cluster's Configuration of a cluster, undefined without a network towards it. */
  configurationOf: (clusterID: string) => Configuration | undefined;
  /** Which addresses, as this cluster knows them, endpoints may have. */
  guard: AddressGuard;
}

export interface MappedSlice {
  slice: EndpointSlice;
  /** Addresses, as the consumer names them, that no consumer's endpoint may have. */
  refused: string[];
}

/**
 * The EndpointSlice that a ShadowEndpointSlice asks for, with addresses as this cluster knows them (offloading specification, §8.6), and without those that are not
 * the consumer's to lead to.
 */
export function endpointSliceOf(shadow: ShadowEndpointSlice, inputs: SliceInputs): MappedSlice {
  const { name, namespace, labels, annotations = {} } = shadow.metadata;
  const { [Annotations.directConnectionsData]: directData, ...kept } = annotations;
  const { addressType = "IPv4", endpoints = [], ports } = shadow.spec.template ?? {};
  const origin = labels?.[Labels.offloadingOrigin] ?? "";
  const direct = directClusters(directData);
  const refused = new Set<string>();
  const map = (address: string): string | undefined => {
    const cluster = direct.get(address);
    const configuration = inputs.configurationOf(cluster ?? origin);
    // Without a network to the third cluster its address means nothing here.
    if (!configuration) return cluster === undefined ? address : undefined;
    return mapRemoteAddress(configuration, address);
  };
  const translate = (address: string): string | undefined => {
    const mapped = map(address);
    if (mapped === undefined || inputs.guard(mapped, [origin, direct.get(address) ?? origin])) return mapped;
    refused.add(address);
    return undefined;
  };
  const slice: EndpointSlice = {
    metadata: {
      name,
      namespace,
      labels: { ...labels, [Labels.managedBy]: LabelValues.shadowEndpointSliceManager },
      annotations: kept,
      ownerReferences: [ownerReference(ShadowEndpointSliceResource, shadow)],
    },
    addressType,
    endpoints: endpoints.flatMap((endpoint) => mapEndpoint(endpoint, translate, inputs.reachable)),
    ports,
  };
  return { slice, refused: [...refused] };
}

/** An endpoint without any address left is dropped. Only `ready` that is true or unset may become false, never the other way. */
function mapEndpoint(
  endpoint: Endpoint,
  translate: (address: string) => string | undefined,
  reachable: boolean,
): Endpoint[] {
  const addresses = endpoint.addresses.flatMap((address) => translate(address) ?? []);
  if (addresses.length === 0) return [];
  const conditions = reachable ? endpoint.conditions : { ...endpoint.conditions, ready: false };
  return [{ ...endpoint, addresses, ...(conditions ? { conditions } : {}) }];
}

/** The cluster of each address that is to be reached directly rather than through the consumer. */
function directClusters(data: string | undefined): Map<string, string> {
  if (!data) return new Map();
  try {
    const { clusterAddresses = {} } = JSON.parse(data) as { clusterAddresses?: Record<string, string[]> };
    return new Map(
      Object.entries(clusterAddresses).flatMap(([clusterID, addresses]) =>
        addresses.map((address) => [address, clusterID] as const),
      ),
    );
  } catch {
    return new Map();
  }
}
