import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { Names } from "../../api/index.js";

const AUTHENTICATION = "authentication.liqo.io";
const OFFLOADING = "offloading.liqo.io";
const NETWORKING = "networking.liqo.io";
const CORE = "core.liqo.io";
const RBAC = "rbac.authorization.k8s.io";
const CERTIFICATES = "certificates.k8s.io";
const CRUD = ["create", "delete", "get", "list", "patch", "update", "watch"];
const READ = ["list", "watch"];

/** Of the controller's authentication area, cluster-wide: tenant namespaces may have any name. */
export const AUTHENTICATION_CONTROLLER_RULES: PolicyRule[] = [
  // Tenants: finalizer and answer.
  { apiGroups: [AUTHENTICATION], resources: ["tenants"], verbs: [...READ, "patch"] },
  { apiGroups: [AUTHENTICATION], resources: ["tenants/status"], verbs: ["update"] },
  // Slices: own ones are completed, consumers' ones cordoned, deleted when the consumer is drained, and answered.
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices"], verbs: [...READ, "patch", "delete"] },
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices/status"], verbs: ["update"] },
  // Identities: made from slices, given their kubeconfig.
  { apiGroups: [AUTHENTICATION], resources: ["identities"], verbs: [...READ, "create", "patch", "delete"] },
  { apiGroups: [AUTHENTICATION], resources: ["identities/status"], verbs: ["patch"] },
  // Renews: made from identities, answered on the provider.
  { apiGroups: [AUTHENTICATION], resources: ["renews"], verbs: [...READ, "create", "patch", "delete"] },
  { apiGroups: [AUTHENTICATION], resources: ["renews/status"], verbs: ["update"] },
  // To block an owner's deletion by what it owns, where the cluster enforces that permission.
  {
    apiGroups: [AUTHENTICATION],
    resources: ["identities/finalizers", "resourceslices/finalizers"],
    verbs: ["update"],
  },
  // Quotas: made from consumers' slices.
  { apiGroups: [OFFLOADING], resources: ["quotas"], verbs: [...READ, "create", "patch", "delete"] },
  // NamespaceMaps of a drained consumer are deleted.
  { apiGroups: [OFFLOADING], resources: ["namespacemaps"], verbs: [...READ, "delete"] },
  // Tenant namespaces are found by their labels.
  { apiGroups: [""], resources: ["namespaces"], verbs: READ },
  // The cluster's keys, nonces, kubeconfigs and issued certificates.
  { apiGroups: [""], resources: ["secrets"], verbs: [...READ, "get", "create", "patch", "delete"] },
  // Bindings of tenants, to the two roles below.
  { apiGroups: [RBAC], resources: ["rolebindings", "clusterrolebindings"], verbs: [...READ, "create", "delete"] },
  { apiGroups: [RBAC], resources: ["clusterroles"], verbs: ["list"] },
  {
    apiGroups: [RBAC],
    resources: ["clusterroles"],
    verbs: ["bind"],
    resourceNames: [Names.remoteControlPlaneRole, Names.virtualKubeletRemoteClusterwideRole],
  },
  // Certificates of consumers are requested, approved, awaited and removed.
  { apiGroups: [CERTIFICATES], resources: ["certificatesigningrequests"], verbs: [...READ, "create", "get", "delete"] },
  { apiGroups: [CERTIFICATES], resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
  {
    apiGroups: [CERTIFICATES],
    resources: ["signers"],
    verbs: ["approve"],
    resourceNames: ["kubernetes.io/kube-apiserver-client"],
  },
  // The API server's address, when none is configured.
  { apiGroups: [""], resources: ["nodes"], verbs: ["list"] },
  // Offered to consumers.
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: READ },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** Of the controller's replication area: sources keep a finalizer and get the copy's status. */
export const REPLICATION_RULES: PolicyRule[] = [
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices", "renews"], verbs: [...READ, "patch"] },
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices/status", "renews/status"], verbs: ["update"] },
  { apiGroups: [OFFLOADING], resources: ["namespacemaps"], verbs: [...READ, "patch"] },
  { apiGroups: [OFFLOADING], resources: ["namespacemaps/status"], verbs: ["update"] },
  // The identities to replicate with, held by a finalizer.
  { apiGroups: [""], resources: ["secrets"], verbs: [...READ, "patch"] },
  // Whether a peer is gone for good.
  { apiGroups: [CORE], resources: ["foreignclusters"], verbs: READ },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** Of the controller's status area: reads everything of a peering, writes ForeignClusters. */
export const STATUS_RULES: PolicyRule[] = [
  {
    apiGroups: [CORE],
    resources: ["foreignclusters"],
    verbs: [...READ, "get", "create", "patch", "delete"],
  },
  { apiGroups: [CORE], resources: ["foreignclusters/status"], verbs: ["update"] },
  {
    apiGroups: [NETWORKING],
    resources: ["configurations", "connections", "gatewayservers", "gatewayclients"],
    verbs: READ,
  },
  { apiGroups: [AUTHENTICATION], resources: ["tenants", "identities"], verbs: READ },
  { apiGroups: [OFFLOADING], resources: ["virtualnodes"], verbs: READ },
  // The kubeconfigs that peers' API servers are looked at with.
  { apiGroups: [""], resources: ["secrets"], verbs: READ },
  // Virtual nodes, and the pods of their processes.
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: READ },
  // Gateways.
  { apiGroups: ["apps"], resources: ["deployments"], verbs: READ },
];

/**
 * ClusterRole `liqo-remote-controlplane`: what a consumer's replicator may do in its tenant namespace (API specification, §11). It writes specs; the
 * status is what the provider grants, and comes back by reading. Which objects are the consumer's is judged at admission.
 */
export const REMOTE_CONTROLPLANE_RULES: PolicyRule[] = [
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices", "renews"], verbs: [...CRUD, "deletecollection"] },
  { apiGroups: [AUTHENTICATION], resources: ["resourceslices/status", "renews/status"], verbs: ["get"] },
  { apiGroups: [OFFLOADING], resources: ["namespacemaps"], verbs: [...CRUD, "deletecollection"] },
  { apiGroups: [OFFLOADING], resources: ["namespacemaps/status"], verbs: ["get"] },
];

/**
 * ClusterRole `liqo-peering-user-tenant-ns`: for a person who peers without administering the provider (API specification, §11, and narrower: the
 * namespace's other Secrets hold the provider's own keys where it peers the other way as well, and IP resources would open its network to the
 * consumer). Which objects it may write is judged at admission.
 */
export const PEERING_USER_TENANT_NS_RULES: PolicyRule[] = [
  { apiGroups: [""], resources: ["namespaces", "services"], verbs: ["get"] },
  // The nonce. Creating cannot be granted by name.
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["get", ...READ, "patch", "delete"],
    resourceNames: [Names.nonceSecret],
  },
  // Whether the gateway is up.
  { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] },
  { apiGroups: [AUTHENTICATION], resources: ["tenants"], verbs: CRUD },
  {
    apiGroups: [NETWORKING],
    resources: ["configurations", "gatewayclients", "gatewayservers", "publickeies"],
    verbs: CRUD,
  },
  { apiGroups: [NETWORKING], resources: ["connections"], verbs: ["get", ...READ] },
  { apiGroups: [NETWORKING], resources: ["gatewayclients/status", "gatewayservers/status"], verbs: ["get"] },
];

/** Role `liqo-peering-user-liqo-ns`, in the installation's namespace (API specification, §11). */
export const PEERING_USER_LIQO_NS_RULES: PolicyRule[] = [
  // The cluster ID.
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", ...READ] },
  // The API server's proxy, for in-band peering.
  { apiGroups: ["ipam.liqo.io"], resources: ["ips"], verbs: ["get", ...READ] },
  // The cluster's ranges.
  { apiGroups: ["ipam.liqo.io"], resources: ["networks"], verbs: ["get", "list"] },
  {
    apiGroups: [NETWORKING],
    resources: ["wggatewayclienttemplates", "wggatewayservertemplates"],
    verbs: ["get", "list"],
  },
];
