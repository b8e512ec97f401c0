/** Where each webhook is served (API specification, §12). */
export const WebhookPaths = {
  pod: "/mutate/pod",
  daemonSets: "/mutate/daemonsets",
  mutateShadowPods: "/mutate/shadowpods",
  validateShadowPods: "/validate/shadowpods",
  foreignCluster: "/mutate/foreign-cluster",
  mutateVirtualNodes: "/mutate/virtualnodes",
  validateVirtualNodes: "/validate/virtualnodes",
  mutateConfigurations: "/mutate/configurations",
  validateConfigurations: "/validate/configurations",
  validateGateways: "/validate/gateways",
  mutateTenants: "/mutate/tenants",
  validateTenants: "/validate/tenants",
  peerWrites: "/validate/peer-writes",
  resourceSlices: "/validate/resourceslices",
  namespaceOffloading: "/validate/namespace-offloading",
} as const;
