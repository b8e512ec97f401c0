/** The name of the webhook that prepares pods for virtual nodes. */
export const POD_WEBHOOK = "pod.mutate.liqo.io";

/** On a Pod that is made for a ShadowPod: how much of its user's Quota it is made for, by resource, in JSON. */
export const ROOM_ANNOTATION = "offloading.liqo.io/room";

/** Where each webhook is served (API specification, §12). */
export const WebhookPaths = {
  pod: "/mutate/pod",
  podRoom: "/validate/pods",
  daemonSets: "/mutate/daemonsets",
  mutateShadowPods: "/mutate/shadowpods",
  validateShadowPods: "/validate/shadowpods",
  foreignCluster: "/mutate/foreign-cluster",
  mutateVirtualNodes: "/mutate/virtualnodes",
  validateVirtualNodes: "/validate/virtualnodes",
  mutateConfigurations: "/mutate/configurations",
  validateConfigurations: "/validate/configurations",
  validateGateways: "/validate/gateways",
  mutateFirewallConfigurations: "/mutate/firewallconfigurations",
  validateFirewallConfigurations: "/validate/firewallconfigurations",
  validateRouteConfigurations: "/validate/routeconfigurations",
  mutateTenants: "/mutate/tenants",
  validateTenants: "/validate/tenants",
  peerWrites: "/validate/peer-writes",
  peeringUserWrites: "/validate/peering-user-writes",
  resourceSlices: "/validate/resourceslices",
  namespaceOffloading: "/validate/namespace-offloading",
} as const;
