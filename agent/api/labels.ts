/** Label keys (API specification, §7; offloading specification, §1). */
export const Labels = {
  /** The other cluster's ID: the key by which nearly everything of a peering is found. */
  remoteClusterID: "liqo.io/remote-cluster-id",
  tenantNamespace: "liqo.io/tenant-namespace",
  identityType: "liqo.io/identity-type",
  nonce: "liqo.io/nonce",
  signedNonce: "liqo.io/signed-nonce",
  resourceSliceName: "liqo.io/resourceslice-name",
  /** "true" on a source to replicate, "false" on the copy. */
  replication: "liqo.io/replication",
  /** The destination's cluster ID, on the source; the copy inherits it. */
  remoteID: "liqo.io/remoteID",
  /** The source's cluster ID, on the copy. */
  originID: "liqo.io/originID",
  /** "true" on the copy. */
  replicated: "liqo.io/replicated",
  /** Of older versions; removed from copies. */
  ownership: "liqo.io/ownership",
  creatorUser: "liqo.io/creator-user",
  remoteTenantCSR: "liqo.io/remote-tenant-csr",
  peeringUserName: "liqo.io/peering-user-name",
  type: "liqo.io/type",
  virtualNode: "liqo.io/virtual-node",
  managed: "liqo.io/managed",
  webhookSkip: "liqo.io/webhook-skip",
  webhook: "liqo.io/webhook",
  provider: "liqo.io/provider",
  region: "topology.kubernetes.io/region",

  schedulingEnabled: "liqo.io/scheduling-enabled",
  shadowPod: "liqo.io/shadowPod",
  managedBy: "liqo.io/managed-by",
  remoteUnavailable: "liqo.io/remote-unavailable",
  storageProvisioner: "liqo.io/storage-provisioner",
  storageAvailable: "storage.liqo.io/available",
  virtualPvcNamespace: "storage.liqo.io/virtual-pvc-namespace",
  virtualPvcName: "storage.liqo.io/virtual-pvc-name",
  offloadingOrigin: "offloading.liqo.io/origin",
  offloadingDestination: "offloading.liqo.io/destination",
  offloadingNodeName: "offloading.liqo.io/nodename",
  offloadingComponent: "offloading.liqo.io/component",
  offloadingPodName: "offloading.liqo.io/pod-name",
  offloadingPodNamespace: "offloading.liqo.io/pod-namespace",
  /** Ours. On a NamespaceOffloading: the policy that made it. */
  offloadingPolicy: "offloading.liqo.io/policy",

  gatewayResource: "networking.liqo.io/gateway-resource",
  gatewayName: "networking.liqo.io/gateway-name",
  gatewayNamespace: "networking.liqo.io/gateway-namespace",
  networkingComponent: "networking.liqo.io/component",
  gatewayActive: "networking.liqo.io/active",
  gatewayTemplate: "networking.liqo.io/gatewaytemplate",
  gatewayMasqueradeBypass: "networking.liqo.io/gateway-masquerade-bypass",
  internalFabricName: "networking.liqo.io/internal-fabric-name",
  internalNodeName: "networking.liqo.io/internal-node-name",
  hostUnreachable: "networking.liqo.io/host-unreachable",
  routeCategory: "networking.liqo.io/route-category",
  routeSubcategory: "networking.liqo.io/route-subcategory",
  routeUnique: "networking.liqo.io/route-unique",
  firewallCategory: "networking.liqo.io/firewall-category",
  firewallSubcategory: "networking.liqo.io/firewall-subcategory",
  firewallUnique: "networking.liqo.io/firewall-unique",

  cidrType: "configuration.liqo.io/cidr-type",
  /** What versions up to 1.1 look for instead of the condition. */
  configurationConfigured: "configuration.liqo.io/configured",
  networkType: "ipam.liqo.io/network-type",
  networkNotRemapped: "ipam.liqo.io/network-not-remapped",
  networkShared: "ipam.liqo.io/network-shared",
  ipType: "ipam.liqo.io/ip-type",
  networkName: "ipam.liqo.io/network-name",
  networkNamespace: "ipam.liqo.io/network-namespace",
  ipEndpointSlice: "ipam.liqo.io/endpointslice",
  /** Ours: on the Service and the EndpointSlice that were made for an IP. */
  ipService: "ipam.liqo.io/ip-service",

  leader: "leaderelection.liqo.io/leader",
  podSecurityEnforce: "pod-security.kubernetes.io/enforce",
  podSecurityAudit: "pod-security.kubernetes.io/audit",
  podSecurityWarn: "pod-security.kubernetes.io/warn",
  appName: "app.kubernetes.io/name",
  appInstance: "app.kubernetes.io/instance",
  appComponent: "app.kubernetes.io/component",
  appPartOf: "app.kubernetes.io/part-of",
  appManagedBy: "app.kubernetes.io/managed-by",
  appVersion: "app.kubernetes.io/version",
} as const;

/** Values of `ipam.liqo.io/network-type`. */
export const NetworkType = {
  pod: "pod-cidr",
  service: "service-cidr",
  external: "external-cidr",
  internal: "internal-cidr",
  reserved: "reserved",
} as const;

/** Values of `configuration.liqo.io/cidr-type`. */
export const CidrType = { pod: "pod", external: "external" } as const;

/** Values of `ipam.liqo.io/ip-type`. */
export const IPType = { apiServer: "api-server", apiServerProxy: "api-server-proxy" } as const;

/** Values of the route and firewall category labels. */
export const RuleCategory = { fabric: "fabric", gateway: "gateway" } as const;

/** Values of `networking.liqo.io/route-subcategory`. */
export const RouteSubcategory = { fabric: "fabric", fabricNode: "fabric-node" } as const;

/** Values of `networking.liqo.io/firewall-subcategory`. */
export const FirewallSubcategory = {
  fabric: "fabric",
  allNodes: "all-nodes",
  singleNode: "single-node",
  allGateways: "all-gateways",
  ipMapping: "ip-mapping",
} as const;

/** Fixed values of other labels. */
export const LabelValues = {
  virtualNodeType: "virtual-node",
  gatewayComponent: "gateway",
  virtualKubeletComponent: "virtual-kubelet",
  shadowPodManager: "shadowpod",
  shadowEndpointSliceManager: "shadowendpointslice",
  endpointSliceManager: "endpointslice.reflection.liqo.io",
  pullSecretManager: "pullsecret",
  partOf: "liqo",
  privileged: "privileged",
} as const;
