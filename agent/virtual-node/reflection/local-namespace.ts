import type { Node, ConfigMap, PersistentVolumeClaim, Secret, Service } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { Ingress } from "kubernetes-types/networking/v1";
import { IPResource, type IP } from "../../api/index.js";
import {
  ConfigMapResource,
  EndpointSliceResource,
  Informer,
  IngressResource,
  PersistentVolumeClaimResource,
  SecretResource,
  ServiceResource,
  type KubeObject,
} from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";

/** What is watched in an offloaded namespace of the consumer. */
export interface LocalNamespace {
  services: Informer<Service>;
  endpointSlices: Informer<EndpointSlice>;
  ingresses: Informer<Ingress>;
  configMaps: Informer<ConfigMap>;
  secrets: Informer<Secret>;
  claims: Informer<PersistentVolumeClaim>;
  ips: Informer<IP>;
  /** Of the whole cluster. */
  nodes: Informer<Node>;
}

export function watchLocalNamespace(
  { local, logger }: VirtualNodeContext,
  namespace: string,
  nodes: Informer<Node>,
): LocalNamespace {
  const options = { namespace, logger };
  return {
    services: new Informer(local, ServiceResource, options),
    endpointSlices: new Informer(local, EndpointSliceResource, options),
    ingresses: new Informer(local, IngressResource, options),
    configMaps: new Informer(local, ConfigMapResource, { ...options, trim: metadataOnly }),
    secrets: new Informer(local, SecretResource, {
      ...options,
      trim: ({ type, ...secret }) => ({ ...metadataOnly(secret), type }),
    }),
    claims: new Informer(local, PersistentVolumeClaimResource, options),
    ips: new Informer(local, IPResource, options),
    nodes,
  };
}

/** All but the nodes, which outlive a namespace. */
export function ownInformers({ nodes: _, ...own }: LocalNamespace): { start(): unknown; stop(): Promise<void> }[] {
  return Object.values(own);
}

export function metadataOnly<T extends KubeObject>({ apiVersion, kind, metadata }: T): T {
  return { apiVersion, kind, metadata } as T;
}
