/** The names of each kind. Its schema is in the file that the type comes from: processes that validate nothing do without. */
import type { ForeignCluster } from "./core.js";
import type { Tenant, Identity, ResourceSlice, Renew } from "./authentication.js";
import type { Configuration } from "./networking-configuration.js";
import type { GatewayServer, GatewayClient, Connection, PublicKey } from "./networking-gateways.js";
import type {
  WgGatewayServer,
  WgGatewayClient,
  WgGatewayServerTemplate,
  WgGatewayClientTemplate,
} from "./networking-wireguard.js";
import type { InternalFabric, InternalNode, GeneveTunnel } from "./networking-fabric.js";
import type { RouteConfiguration, FirewallConfiguration } from "./networking-rules.js";
import type { Network, IP } from "./ipam.js";
import type {
  NamespaceMap,
  NamespaceOffloading,
  Quota,
  ShadowPod,
  ShadowEndpointSlice,
  VirtualNode,
  VkOptionsTemplate,
} from "./offloading.js";
import type { NamespaceOffloadingPolicy } from "./offloading-policy.js";
import { CORE, AUTHENTICATION, NETWORKING, IPAM, OFFLOADING } from "./groups.js";
import { defineKind } from "./kind.js";

export const ForeignClusterResource = defineKind<ForeignCluster>({
  ...CORE,
  kind: "ForeignCluster",
  plural: "foreignclusters",
  namespaced: false,
});
export const TenantResource = defineKind<Tenant>({
  ...AUTHENTICATION,
  kind: "Tenant",
  plural: "tenants",
  namespaced: true,
});
export const IdentityResource = defineKind<Identity>({
  ...AUTHENTICATION,
  kind: "Identity",
  plural: "identities",
  namespaced: true,
});
export const ResourceSliceResource = defineKind<ResourceSlice>({
  ...AUTHENTICATION,
  kind: "ResourceSlice",
  plural: "resourceslices",
  namespaced: true,
});
export const RenewResource = defineKind<Renew>({
  ...AUTHENTICATION,
  kind: "Renew",
  plural: "renews",
  namespaced: true,
});
export const ConfigurationResource = defineKind<Configuration>({
  ...NETWORKING,
  kind: "Configuration",
  plural: "configurations",
  namespaced: true,
});
export const GatewayServerResource = defineKind<GatewayServer>({
  ...NETWORKING,
  kind: "GatewayServer",
  plural: "gatewayservers",
  namespaced: true,
});
export const GatewayClientResource = defineKind<GatewayClient>({
  ...NETWORKING,
  kind: "GatewayClient",
  plural: "gatewayclients",
  namespaced: true,
});
export const ConnectionResource = defineKind<Connection>({
  ...NETWORKING,
  kind: "Connection",
  plural: "connections",
  namespaced: true,
});
export const PublicKeyResource = defineKind<PublicKey>({
  ...NETWORKING,
  kind: "PublicKey",
  plural: "publickeies",
  namespaced: true,
});
export const WgGatewayServerResource = defineKind<WgGatewayServer>({
  ...NETWORKING,
  kind: "WgGatewayServer",
  plural: "wggatewayservers",
  namespaced: true,
});
export const WgGatewayClientResource = defineKind<WgGatewayClient>({
  ...NETWORKING,
  kind: "WgGatewayClient",
  plural: "wggatewayclients",
  namespaced: true,
});
export const WgGatewayServerTemplateResource = defineKind<WgGatewayServerTemplate>({
  ...NETWORKING,
  kind: "WgGatewayServerTemplate",
  plural: "wggatewayservertemplates",
  namespaced: true,
});
export const WgGatewayClientTemplateResource = defineKind<WgGatewayClientTemplate>({
  ...NETWORKING,
  kind: "WgGatewayClientTemplate",
  plural: "wggatewayclienttemplates",
  namespaced: true,
});
export const InternalFabricResource = defineKind<InternalFabric>({
  ...NETWORKING,
  kind: "InternalFabric",
  plural: "internalfabrics",
  namespaced: true,
});
export const InternalNodeResource = defineKind<InternalNode>({
  ...NETWORKING,
  kind: "InternalNode",
  plural: "internalnodes",
  namespaced: false,
});
export const GeneveTunnelResource = defineKind<GeneveTunnel>({
  ...NETWORKING,
  kind: "GeneveTunnel",
  plural: "genevetunnels",
  namespaced: true,
});
export const RouteConfigurationResource = defineKind<RouteConfiguration>({
  ...NETWORKING,
  kind: "RouteConfiguration",
  plural: "routeconfigurations",
  namespaced: true,
});
export const FirewallConfigurationResource = defineKind<FirewallConfiguration>({
  ...NETWORKING,
  kind: "FirewallConfiguration",
  plural: "firewallconfigurations",
  namespaced: true,
});
export const NetworkResource = defineKind<Network>({ ...IPAM, kind: "Network", plural: "networks", namespaced: true });
export const IPResource = defineKind<IP>({ ...IPAM, kind: "IP", plural: "ips", namespaced: true });
export const NamespaceMapResource = defineKind<NamespaceMap>({
  ...OFFLOADING,
  kind: "NamespaceMap",
  plural: "namespacemaps",
  namespaced: true,
});
export const NamespaceOffloadingResource = defineKind<NamespaceOffloading>({
  ...OFFLOADING,
  kind: "NamespaceOffloading",
  plural: "namespaceoffloadings",
  namespaced: true,
});
export const NamespaceOffloadingPolicyResource = defineKind<NamespaceOffloadingPolicy>({
  ...OFFLOADING,
  kind: "NamespaceOffloadingPolicy",
  plural: "namespaceoffloadingpolicies",
  namespaced: false,
});
export const QuotaResource = defineKind<Quota>({ ...OFFLOADING, kind: "Quota", plural: "quotas", namespaced: true });
export const ShadowPodResource = defineKind<ShadowPod>({
  ...OFFLOADING,
  kind: "ShadowPod",
  plural: "shadowpods",
  namespaced: true,
});
export const ShadowEndpointSliceResource = defineKind<ShadowEndpointSlice>({
  ...OFFLOADING,
  kind: "ShadowEndpointSlice",
  plural: "shadowendpointslices",
  namespaced: true,
});
export const VirtualNodeResource = defineKind<VirtualNode>({
  ...OFFLOADING,
  kind: "VirtualNode",
  plural: "virtualnodes",
  namespaced: true,
});
export const VkOptionsTemplateResource = defineKind<VkOptionsTemplate>({
  ...OFFLOADING,
  kind: "VkOptionsTemplate",
  plural: "vkoptionstemplates",
  namespaced: true,
});
