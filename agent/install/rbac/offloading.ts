import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { Names } from "../../api/names.js";

const READ = ["get", "list", "watch"];

/** What the controller's offloading part uses, cluster-wide. Each rule says why. */
export const OFFLOADING_CONTROLLER_RULES: PolicyRule[] = [
  // Slices and their identities tell which virtual nodes there are to be.
  { apiGroups: ["authentication.liqo.io"], resources: ["resourceslices", "identities"], verbs: READ },
  // A VirtualNode is owned by its slice, and blocks its deletion.
  { apiGroups: ["authentication.liqo.io"], resources: ["resourceslices/finalizers"], verbs: ["update"] },
  // Made from slices; a finalizer and conditions are written.
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes"],
    verbs: [...READ, "create", "patch"],
  },
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes/status", "namespacemaps/status", "shadowpods/status"],
    verbs: ["patch"],
  },
  { apiGroups: ["offloading.liqo.io"], resources: ["namespaceoffloadings/status"], verbs: ["update"] },
  // Deployments, pods and slices are owned by these, and block their deletion.
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes/finalizers", "shadowpods/finalizers", "shadowendpointslices/finalizers"],
    verbs: ["update"],
  },
  // One towards each provider; entries of offloaded namespaces; the finalizer of the provider's copies.
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespacemaps"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  { apiGroups: ["offloading.liqo.io"], resources: ["namespaceoffloadings"], verbs: [...READ, "patch"] },
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["shadowpods", "shadowendpointslices", "vkoptionstemplates"],
    verbs: READ,
  },
  // Which addresses and pod ranges there are, and whether a peer can be reached.
  { apiGroups: ["networking.liqo.io"], resources: ["configurations"], verbs: READ },
  { apiGroups: ["ipam.liqo.io"], resources: ["networks"], verbs: READ },
  { apiGroups: ["core.liqo.io"], resources: ["foreignclusters"], verbs: READ },
  // The virtual nodes' processes.
  {
    apiGroups: ["apps"],
    resources: ["deployments"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["create", "patch", "delete"] },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterrolebindings"],
    verbs: ["create", "patch", "delete"],
  },
  // The consumer's rights in the namespaces it is given.
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"], verbs: [...READ, "create"] },
  // Bound without holding their rules: these two and no other.
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.virtualKubeletLocalRole, Names.virtualKubeletRemoteRole],
    verbs: ["bind"],
  },
  // Virtual Nodes are cordoned when they drain, and deleted at their end.
  { apiGroups: [""], resources: ["nodes"], verbs: [...READ, "patch", "delete"] },
  // Pods of ShadowPods are made; pods of unreachable nodes labelled; pods of a dead peer deleted.
  { apiGroups: [""], resources: ["pods"], verbs: [...READ, "create", "patch", "delete"] },
  // Pods are resized in place, and given ephemeral containers, as their ShadowPods are.
  { apiGroups: [""], resources: ["pods/resize", "pods/ephemeralcontainers"], verbs: ["patch"] },
  // A drain asks disruption budgets.
  { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  // Offloaded namespaces are labelled; remote namespaces made and deleted.
  { apiGroups: [""], resources: ["namespaces"], verbs: [...READ, "create", "patch", "delete"] },
  // Made from ShadowEndpointSlices; with their endpoints, which the API server guards by a right of its own on some platforms.
  {
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices/restricted"], verbs: ["create"] },
  // Claims whose data may be in any cluster: given back to the scheduler, and told their size.
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "patch"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims/status"], verbs: ["patch"] },
  // Their volumes.
  { apiGroups: [""], resources: ["persistentvolumes"], verbs: [...READ, "create", "patch", "delete"] },
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: READ },
  // What happened, on the objects that people look at.
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** Of the controller in the storage namespace alone: claims for the data of this cluster's own nodes. */
export const STORAGE_NAMESPACE_RULES: PolicyRule[] = [
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["create", "patch", "delete"] },
];

/** What the webhooks use, cluster-wide. */
export const WEBHOOK_RULES: PolicyRule[] = [
  // What requests are judged by.
  {
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadings", "quotas", "shadowpods", "virtualnodes", "vkoptionstemplates"],
    verbs: READ,
  },
  { apiGroups: ["authentication.liqo.io"], resources: ["tenants", "resourceslices"], verbs: READ },
  {
    apiGroups: ["networking.liqo.io"],
    resources: ["configurations", "gatewayservers", "gatewayclients", "routeconfigurations", "firewallconfigurations"],
    verbs: ["list"],
  },
  { apiGroups: [""], resources: ["namespaces", "nodes"], verbs: READ },
  // Whether who writes a replicated object is a peer.
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"], verbs: ["list"] },
  // The authority is written into the configurations that are labelled for it; list and watch cannot be limited by name.
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: ["list", "watch"],
  },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: [Names.webhookConfiguration],
    verbs: ["get", "patch"],
  },
  // The Secret with the webhooks' certificates. Creating cannot be limited by name.
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [Names.webhookSecret],
    verbs: ["get", "list", "watch", "update"],
  },
];
