import { Names } from "../../api/names.js";
import type { ReasonedRule } from "./rule.js";

const READ = ["get", "list", "watch"];

/** What the controller's offloading part uses, cluster-wide. Each rule says why. */
export const OFFLOADING_CONTROLLER_RULES: ReasonedRule[] = [
  {
    why: "Slices and their identities tell which virtual nodes there are to be.",
    apiGroups: ["authentication.liqo.io"],
    resources: ["resourceslices", "identities"],
    verbs: READ,
  },
  {
    why: "A VirtualNode is owned by its slice, and blocks its deletion.",
    onlyWhen: "where the cluster enforces it (admission plugin OwnerReferencesPermissionEnforcement)",
    apiGroups: ["authentication.liqo.io"],
    resources: ["resourceslices/finalizers"],
    verbs: ["update"],
  },
  {
    why: "Made from slices; a finalizer and conditions are written.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes"],
    verbs: [...READ, "create", "patch"],
  },
  {
    why: "What has come of them.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes/status", "namespacemaps/status", "shadowpods/status"],
    verbs: ["patch"],
  },
  {
    why: "How far the offloading of a namespace is.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadings/status"],
    verbs: ["update"],
  },
  {
    why: "Deployments, pods and slices are owned by these, and block their deletion.",
    onlyWhen: "where the cluster enforces it (admission plugin OwnerReferencesPermissionEnforcement)",
    apiGroups: ["offloading.liqo.io"],
    resources: ["virtualnodes/finalizers", "shadowpods/finalizers", "shadowendpointslices/finalizers"],
    verbs: ["update"],
  },
  {
    why: "One towards each provider; entries of offloaded namespaces; the finalizer of the provider's copies.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespacemaps"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "Which namespaces are offloaded, and a finalizer until they are no more.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadings"],
    verbs: [...READ, "patch"],
  },
  {
    why: "Which namespaces are to be offloaded by their labels.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadingpolicies"],
    verbs: ["list", "watch"],
  },
  {
    why: "Which namespaces a policy has offloaded, and which it could not.",
    onlyWhen: "where there is a NamespaceOffloadingPolicy",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadingpolicies/status"],
    verbs: ["update"],
  },
  {
    why: "Made for namespaces that a policy selects, and deleted for those that it selects no more.",
    onlyWhen: "where there is a NamespaceOffloadingPolicy",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespaceoffloadings"],
    verbs: ["create", "delete"],
  },
  {
    why: "What consumers have sent, and what virtual nodes are made from.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["shadowpods", "shadowendpointslices", "vkoptionstemplates"],
    verbs: READ,
  },
  {
    why: "Which addresses and pod ranges there are, and whether a peer can be reached.",
    apiGroups: ["networking.liqo.io"],
    resources: ["configurations"],
    verbs: READ,
  },
  {
    why: "How the pod ranges are translated.",
    apiGroups: ["ipam.liqo.io"],
    resources: ["networks"],
    verbs: READ,
  },
  {
    why: "Whether a peer is out of reach, or gone for good.",
    apiGroups: ["core.liqo.io"],
    resources: ["foreignclusters"],
    verbs: READ,
  },
  {
    why: "The virtual nodes' processes.",
    apiGroups: ["apps"],
    resources: ["deployments"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "The accounts of the virtual nodes' processes.",
    apiGroups: [""],
    resources: ["serviceaccounts"],
    verbs: ["create", "patch", "delete"],
  },
  {
    why: "The rights of the virtual nodes' processes.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterrolebindings"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "The consumer's rights in the namespaces it is given.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["rolebindings"],
    verbs: [...READ, "create"],
  },
  {
    why: "Bound without holding their rules: these two and, as below, two that the administrator may make.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.virtualKubeletLocalRole, Names.virtualKubeletRemoteRole],
    verbs: ["bind"],
  },
  {
    why: "Whether the administrator has made the roles by which custom resources may be reflected.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.virtualKubeletLocalCustomRole, Names.virtualKubeletRemoteCustomRole],
    verbs: ["list", "watch"],
  },
  {
    why: "Bound without holding their rules, which are the administrator's.",
    onlyWhen: "where the administrator has made them",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.virtualKubeletLocalCustomRole, Names.virtualKubeletRemoteCustomRole],
    verbs: ["bind"],
  },
  {
    why: "Virtual Nodes are cordoned when they drain, avoided while their provider has no room, and deleted at their end.",
    apiGroups: [""],
    resources: ["nodes"],
    verbs: [...READ, "patch", "delete"],
  },
  {
    why: "Pods of ShadowPods are made; pods of unreachable nodes labelled; pods of a dead peer deleted.",
    apiGroups: [""],
    resources: ["pods"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "Pods are resized in place, and given ephemeral containers, as their ShadowPods are.",
    apiGroups: [""],
    resources: ["pods/resize", "pods/ephemeralcontainers"],
    verbs: ["patch"],
  },
  {
    why: "Pods leave as disruption budgets allow: those of a drained virtual node, of a cluster that a namespace is no longer offloaded to, and those that a provider has no room for.",
    onlyWhen:
      "where there are such pods: a Pulumi program that ends a node or an offloading has them moved before, with its own rights",
    apiGroups: [""],
    resources: ["pods/eviction"],
    verbs: ["create"],
  },
  {
    why: "Offloaded namespaces are labelled; remote namespaces made and deleted.",
    apiGroups: [""],
    resources: ["namespaces"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "Made from ShadowEndpointSlices; with their endpoints, which the API server guards by a right of its own on some platforms.",
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "The addresses in EndpointSlices, which some platforms guard by a right of its own.",
    onlyWhen: "on such platforms, as OpenShift",
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices/restricted"],
    verbs: ["create"],
  },
  {
    why: "Claims whose data may be in any cluster: given back to the scheduler, and told their size.",
    apiGroups: [""],
    resources: ["persistentvolumeclaims"],
    verbs: [...READ, "patch"],
  },
  {
    why: "The sizes of claims.",
    onlyWhen: "a claim is made larger",
    apiGroups: [""],
    resources: ["persistentvolumeclaims/status"],
    verbs: ["patch"],
  },
  {
    why: "Their volumes.",
    apiGroups: [""],
    resources: ["persistentvolumes"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "The classes of claims.",
    apiGroups: ["storage.k8s.io"],
    resources: ["storageclasses"],
    verbs: READ,
  },
  {
    why: "What pods take beside what their containers ask for.",
    apiGroups: ["node.k8s.io"],
    resources: ["runtimeclasses"],
    verbs: ["list", "watch"],
  },
  {
    why: "What happened, on the objects that people look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
];

/** Of the controller in the storage namespace alone: claims for the data of this cluster's own nodes. */
export const STORAGE_NAMESPACE_RULES: ReasonedRule[] = [
  {
    why: "Claims for the data of this cluster's own nodes.",
    onlyWhen: "the first pod of a claim of class liqo is put on such a node",
    apiGroups: [""],
    resources: ["persistentvolumeclaims"],
    verbs: ["create", "patch", "delete"],
  },
];

/** What the webhooks use, cluster-wide. */
export const WEBHOOK_RULES: ReasonedRule[] = [
  {
    why: "What requests are judged by.",
    apiGroups: ["offloading.liqo.io"],
    resources: ["namespacemaps", "namespaceoffloadings", "quotas", "shadowpods", "virtualnodes", "vkoptionstemplates"],
    verbs: READ,
  },
  {
    why: "For a cluster that is gone for good no data is kept.",
    apiGroups: ["core.liqo.io"],
    resources: ["foreignclusters"],
    verbs: READ,
  },
  {
    why: "What requests are judged by.",
    apiGroups: ["authentication.liqo.io"],
    resources: ["tenants", "resourceslices"],
    verbs: READ,
  },
  {
    why: "What requests are judged by.",
    apiGroups: ["networking.liqo.io"],
    resources: ["configurations", "gatewayservers", "gatewayclients", "routeconfigurations", "firewallconfigurations"],
    verbs: ["list"],
  },
  {
    why: "Which namespaces are offloaded; which Nodes there are already.",
    apiGroups: [""],
    resources: ["namespaces", "nodes"],
    verbs: READ,
  },
  {
    why: "What pods take beside what their containers ask for.",
    apiGroups: ["node.k8s.io"],
    resources: ["runtimeclasses"],
    verbs: ["list", "watch"],
  },
  {
    why: "What would be lost with an offloading, a virtual node or a slice that is to end.",
    apiGroups: [""],
    resources: ["persistentvolumes"],
    verbs: READ,
  },
  {
    why: "Whether who writes a replicated object is a peer.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["rolebindings"],
    verbs: ["list"],
  },
  {
    why: "The authority is written into the configurations that are labelled for it; list and watch cannot be limited by name.",
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: ["list", "watch"],
  },
  {
    why: "The authority is written into these configurations alone.",
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: [Names.webhookConfiguration],
    verbs: ["get", "patch"],
  },
  {
    why: "The Secret with the webhooks' certificates. Creating cannot be limited by name.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["create"],
  },
  {
    why: "The webhooks' certificates.",
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [Names.webhookSecret],
    verbs: ["get", "list", "watch", "update"],
  },
];
