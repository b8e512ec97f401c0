/** Annotation keys (API specification, §8; offloading specification, §1). */
export const Annotations = {
  remoteTenantNamespace: "liqo.io/remote-tenant-namespace",
  createVirtualNode: "liqo.io/create-virtual-node",
  cordon: "liqo.io/cordon",
  cordonTenant: "liqo.io/cordon-tenant",
  permanentlyUnreachable: "liqo.io/foreign-cluster-permanently-unreachable",
  preinstalled: "liqo.io/preinstalled",
  uninstalling: "liqo.io/uninstalling",
  templateLabels: "liqo.io/template-labels",
  templateAnnotations: "liqo.io/template-annotations",
  webhookServiceName: "liqo.io/webhook-service-name",
  renew: "liqo.io/renew",

  skipReflection: "liqo.io/skip-reflection",
  allowReflection: "liqo.io/allow-reflection",
  forceRemoteNodePort: "liqo.io/force-remote-node-port",
  antiAffinityPreset: "liqo.io/anti-affinity-preset",
  antiAffinityLabels: "liqo.io/anti-affinity-labels",
  remoteRuntimeClassName: "liqo.io/remote-runtime-class-name",
  remoteAccessModes: "liqo.io/remote-access-modes",
  remoteStorageClass: "liqo.io/remote-storage-class",
  remoteServiceAccountName: "liqo.io/remote-service-account-name",
  apiServerSupport: "liqo.io/api-server-support",
  useDirectConnections: "liqo.io/use-direct-connections",
  directConnectionsData: "liqo.io/direct-connections-data",
  offloadingPatchHash: "liqo.io/offloading-patch-hash",
  managedByNamespaceMap: "liqo.io/managed-by-namespace-map",
  originalName: "liqo.io/original-name",
  /** Ours. On a NamespaceOffloading: seconds, or "never". */
  evictionAfterDisconnect: "offloading.liqo.io/eviction-after-disconnect",
  /** Ours. On a NamespaceOffloading: seconds, or "never". */
  evictionAfterUnschedulable: "offloading.liqo.io/eviction-after-unschedulable",
  /** Ours. On a pod: which node affinity its namespace's offloading has given it. */
  clusterSelectorHash: "offloading.liqo.io/cluster-selector-hash",
  /** Ours. On a NamespaceOffloading: "true" agrees that data at providers goes with their namespaces. */
  deleteRemoteVolumes: "offloading.liqo.io/delete-remote-volumes",
  /** Ours, with a provider's cluster ID behind: where that provider has published a Service or an Ingress. */
  publishedAtPrefix: "published-at.offloading.liqo.io/",
  /** Ours. On a ShadowPod: its Pod is to end, within so many seconds. */
  deletionGracePeriod: "offloading.liqo.io/deletion-grace-period-seconds",
  /** Ours. On a client's Connection: where the server says that it is reached now. */
  serverEndpoint: "networking.liqo.io/server-endpoint",
} as const;

/** What `liqo.io/api-server-support` may say, on a pod or, for all of its namespace's, on a NamespaceOffloading. */
export const API_SERVER_SUPPORT = ["remote", "disabled"] as const;

/** What the eviction delays of a NamespaceOffloading may say: seconds, or "never". */
export function isEvictionDelay(text: string): boolean {
  return text === "never" || /^[0-9]{1,9}$/.test(text);
}

/** `liqo.io/create-virtual-node`: any value but an empty one and "false", in any case, asks for a virtual node. */
export function asksForVirtualNode(annotations: Record<string, string> | undefined): boolean {
  const value = annotations?.[Annotations.createVirtualNode];
  return value !== undefined && value !== "" && value.toLowerCase() !== "false";
}

/** `liqo.io/cordon`, `liqo.io/cordon-tenant`: present and not "false", "False" or "0". */
export function isCordoned(annotations: Record<string, string> | undefined): boolean {
  return [Annotations.cordon, Annotations.cordonTenant].some((key) => {
    const value = annotations?.[key];
    return value !== undefined && !["false", "False", "0"].includes(value);
  });
}

/** Annotations that providers' infrastructure writes for itself (offloading specification, §8.2). */
export const ANNOTATIONS_NOT_REFLECTED = [
  "cloud.google.com/neg",
  "cloud.google.com/neg-status",
  "kubernetes.digitalocean.com/load-balancer-id",
  "ingress.kubernetes.io/backends",
  "ingress.kubernetes.io/forwarding-rule",
  "ingress.kubernetes.io/target-proxy",
  "ingress.kubernetes.io/url-map",
  "metallb.universe.tf/address-pool",
  "metallb.universe.tf/ip-allocated-from-pool",
  "metallb.universe.tf/loadBalancerIPs",
  "loadbalancer.openstack.org/load-balancer-id",
];
