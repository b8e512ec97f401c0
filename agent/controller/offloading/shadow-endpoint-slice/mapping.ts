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

export interface SliceInputs {
  /** Whether the consumer's pods can be reached now. */
  reachable: boolean;
  /** This cluster's Configuration of a cluster, undefined without a network towards it. */
  configurationOf: (clusterID: string) => Configuration | undefined;
}

/** The EndpointSlice that a ShadowEndpointSlice asks for, with addresses as this cluster knows them (offloading specification, §8.6). */
export function endpointSliceOf(shadow: ShadowEndpointSlice, inputs: SliceInputs): EndpointSlice {
  const { name, namespace, labels, annotations = {} } = shadow.metadata;
  const { [Annotations.directConnectionsData]: directData, ...kept } = annotations;
  const { addressType = "IPv4", endpoints = [], ports } = shadow.spec.template ?? {};
  const origin = labels?.[Labels.offloadingOrigin] ?? "";
  const direct = directClusters(directData);
  const translate = (address: string): string | undefined => {
    const cluster = direct.get(address);
    const configuration = inputs.configurationOf(cluster ?? origin);
    // Without a network to the third cluster its address means nothing here.
    if (!configuration) return cluster === undefined ? address : undefined;
    return mapRemoteAddress(configuration, address);
  };
  return {
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
}

/** The clusters whose Configurations decide about the addresses of a slice: the consumer's, and those that it names as reached directly. */
export function clustersBehind({ metadata }: ShadowEndpointSlice): string[] {
  const { labels, annotations } = metadata;
  return [
    labels?.[Labels.offloadingOrigin] ?? "",
    ...directClusters(annotations?.[Annotations.directConnectionsData]).values(),
  ];
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
