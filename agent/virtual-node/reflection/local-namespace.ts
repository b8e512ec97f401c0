import type { Node, ConfigMap, PersistentVolumeClaim, Secret, Service } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { Ingress } from "kubernetes-types/networking/v1";
import { customResourceName } from "../../api/custom-resource.js";
import { IPResource, type IP } from "../../api/index.js";
import {
  ConfigMapResource,
  EndpointSliceResource,
  Informer,
  IngressResource,
  PersistentVolumeClaimResource,
  SecretResource,
  ServiceResource,
  type InformerOptions,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";
import { customResourceType, withoutStatus, type CustomResourceObject } from "./custom-resource.js";
import { ROOT_CA } from "./root-ca.js";

/** What is watched in an offloaded namespace of the consumer; of kinds with a selector, what it selects. */
export interface LocalNamespace {
  services: Informer<Service>;
  endpointSlices: Informer<EndpointSlice>;
  ingresses: Informer<Ingress>;
  configMaps: Informer<ConfigMap>;
  /** Only where a selector might leave it out: pods need it. */
  rootCa?: Informer<ConfigMap>;
  secrets: Informer<Secret>;
  claims: Informer<PersistentVolumeClaim>;
  ips: Informer<IP>;
  /** By names such as "widgets.example.com". */
  customResources: ReadonlyMap<string, Informer<CustomResourceObject>>;
  /** Of the whole cluster. */
  nodes: Informer<Node>;
}

export function watchLocalNamespace(
  { local, logger, config }: VirtualNodeContext,
  namespace: string,
  nodes: Informer<Node>,
  onCustomResourceFailure: (type: ResourceType, error: unknown) => void,
): LocalNamespace {
  const options = { namespace, logger };
  /** The API server does the selecting: what stops matching is deleted, as seen from here. */
  const selected = (kind: string) => ({ ...options, labelSelector: config.reflection[kind]?.selector });
  return {
    services: new Informer(local, ServiceResource, selected("service")),
    endpointSlices: new Informer(local, EndpointSliceResource, options),
    ingresses: new Informer(local, IngressResource, selected("ingress")),
    ...configMapInformers(local, selected("configmap")),
    secrets: new Informer(local, SecretResource, {
      ...selected("secret"),
      trim: ({ type, ...secret }) => ({ ...metadataOnly(secret), type }),
    }),
    claims: new Informer(local, PersistentVolumeClaimResource, options),
    ips: new Informer(local, IPResource, options),
    customResources: new Map(
      config.customResources.flatMap((resource) => {
        const [name, type] = [customResourceName(resource), customResourceType(resource)];
        // One that is turned off lacks nothing.
        if (config.reflection[name]?.workers === 0) return [];
        const onError = (error: unknown): void => onCustomResourceFailure(type, error);
        return [[name, new Informer(local, type, { ...selected(name), trim: withoutStatus, onError })]];
      }),
    ),
    nodes,
  };
}

/** Where there is a selector, in two parts: pods need the cluster's CA whatever its labels. */
function configMapInformers(
  local: KubeClient,
  { labelSelector, ...options }: InformerOptions<ConfigMap>,
): Pick<LocalNamespace, "configMaps" | "rootCa"> {
  const informer = (selectors: { labelSelector?: string; fieldSelector?: string }): Informer<ConfigMap> =>
    new Informer(local, ConfigMapResource, { ...options, ...selectors, trim: metadataOnly });
  if (!labelSelector) return { configMaps: informer({}) };
  return {
    configMaps: informer({ labelSelector, fieldSelector: `metadata.name!=${ROOT_CA}` }),
    rootCa: informer({ fieldSelector: `metadata.name=${ROOT_CA}` }),
  };
}

/** All but the nodes, which outlive a namespace. */
export function ownInformers({ nodes: _, customResources, ...own }: LocalNamespace): {
  start(): unknown;
  stop(): Promise<void>;
}[] {
  return [...Object.values(own).filter((informer) => informer !== undefined), ...customResources.values()];
}

export function metadataOnly<T extends KubeObject>({ apiVersion, kind, metadata }: T): T {
  return { apiVersion, kind, metadata } as T;
}
