import { Names } from "../../api/index.js";
import type { ReasonedRule } from "./rule.js";

const AUTHENTICATION = "authentication.liqo.io";
const OFFLOADING = "offloading.liqo.io";
const NETWORKING = "networking.liqo.io";
const CORE = "core.liqo.io";
const RBAC = "rbac.authorization.k8s.io";
const CERTIFICATES = "certificates.k8s.io";
const CRUD = ["create", "delete", "get", "list", "patch", "update", "watch"];
const READ = ["list", "watch"];

/** Of the controller's authentication area, cluster-wide: tenant namespaces may have any name. */
export const AUTHENTICATION_CONTROLLER_RULES: ReasonedRule[] = [
  {
    why: "Tenants: finalizer and answer.",
    apiGroups: [AUTHENTICATION],
    resources: ["tenants"],
    verbs: [...READ, "patch"],
  },
  {
    why: "The answer to a Tenant.",
    apiGroups: [AUTHENTICATION],
    resources: ["tenants/status"],
    verbs: ["update"],
  },
  {
    why: "Slices: own ones are completed, consumers' ones cordoned, deleted when the consumer is drained, and answered.",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices"],
    verbs: [...READ, "patch", "delete"],
  },
  {
    why: "The answer to a consumer's slice.",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices/status"],
    verbs: ["update"],
  },
  {
    why: "Identities: made from slices, given their kubeconfig.",
    apiGroups: [AUTHENTICATION],
    resources: ["identities"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "Where an identity's kubeconfig is.",
    apiGroups: [AUTHENTICATION],
    resources: ["identities/status"],
    verbs: ["patch"],
  },
  {
    why: "Renews: made from identities, answered on the provider.",
    apiGroups: [AUTHENTICATION],
    resources: ["renews"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "The renewed certificate.",
    apiGroups: [AUTHENTICATION],
    resources: ["renews/status"],
    verbs: ["update"],
  },
  {
    why: "To block an owner's deletion by what it owns.",
    onlyWhen: "where the cluster enforces it (admission plugin OwnerReferencesPermissionEnforcement)",
    apiGroups: [AUTHENTICATION],
    resources: ["identities/finalizers", "resourceslices/finalizers"],
    verbs: ["update"],
  },
  {
    why: "Quotas: made from consumers' slices.",
    apiGroups: [OFFLOADING],
    resources: ["quotas"],
    verbs: [...READ, "create", "patch", "delete"],
  },
  {
    why: "NamespaceMaps of a drained consumer are deleted.",
    apiGroups: [OFFLOADING],
    resources: ["namespacemaps"],
    verbs: [...READ, "delete"],
  },
  { why: "Tenant namespaces are found by their labels.", apiGroups: [""], resources: ["namespaces"], verbs: READ },
  {
    why: "The cluster's keys, nonces, kubeconfigs and issued certificates.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: [...READ, "get", "create", "patch", "delete"],
  },
  {
    why: "Bindings of tenants, to the two roles below.",
    apiGroups: [RBAC],
    resources: ["rolebindings", "clusterrolebindings"],
    verbs: [...READ, "create", "delete"],
  },
  {
    why: "The two roles for tenants are found by their labels.",
    apiGroups: [RBAC],
    resources: ["clusterroles"],
    verbs: ["list"],
  },
  {
    why: "Tenants are bound to these two roles, whose rules the controller need not hold.",
    apiGroups: [RBAC],
    resources: ["clusterroles"],
    verbs: ["bind"],
    resourceNames: [Names.remoteControlPlaneRole, Names.virtualKubeletRemoteClusterwideRole],
  },
  {
    why: "Certificates of consumers are requested, approved, awaited and removed.",
    apiGroups: [CERTIFICATES],
    resources: ["certificatesigningrequests"],
    verbs: [...READ, "create", "get", "delete"],
  },
  {
    why: "Certificates of consumers are approved.",
    apiGroups: [CERTIFICATES],
    resources: ["certificatesigningrequests/approval"],
    verbs: ["update"],
  },
  {
    why: "The signer of certificates for clients: to approve is a right of its own.",
    apiGroups: [CERTIFICATES],
    resources: ["signers"],
    verbs: ["approve"],
    resourceNames: ["kubernetes.io/kube-apiserver-client"],
  },
  {
    why: "The architecture of the nodes, told to consumers; the API server's address, when none is configured.",
    apiGroups: [""],
    resources: ["nodes"],
    verbs: READ,
  },
  { why: "Offered to consumers.", apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: READ },
  {
    why: "Telling people what happened, on the objects they look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
];

/** Of the controller's replication area: sources keep a finalizer and get the copy's status. */
export const REPLICATION_RULES: ReasonedRule[] = [
  {
    why: "What is sent to providers, held by a finalizer until the copy is gone.",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices", "renews"],
    verbs: [...READ, "patch"],
  },
  {
    why: "What the provider answers.",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices/status", "renews/status"],
    verbs: ["update"],
  },
  {
    why: "What is sent to providers, held by a finalizer until the copy is gone.",
    apiGroups: [OFFLOADING],
    resources: ["namespacemaps"],
    verbs: [...READ, "patch"],
  },
  {
    why: "What the provider answers.",
    apiGroups: [OFFLOADING],
    resources: ["namespacemaps/status"],
    verbs: ["update"],
  },
  {
    why: "The identities to replicate with, held by a finalizer.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: [...READ, "patch"],
  },
  {
    why: "The virtual nodes of a slice are deleted, and waited for, before the slice is given back.",
    apiGroups: [OFFLOADING],
    resources: ["virtualnodes"],
    verbs: [...READ, "delete"],
  },
  {
    why: "Where a provider's gateway server is reached now is told to the gateway that is its client, by an annotation.",
    apiGroups: [NETWORKING],
    resources: ["connections"],
    verbs: [...READ, "patch"],
  },
  {
    why: "Where the client was told to look for the server.",
    apiGroups: [NETWORKING],
    resources: ["gatewayclients"],
    verbs: READ,
  },
  { why: "Whether a peer is gone for good.", apiGroups: [CORE], resources: ["foreignclusters"], verbs: READ },
  {
    why: "Telling people what happened, on the objects they look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
];

/** Of the controller's status area: reads everything of a peering, writes ForeignClusters. */
export const STATUS_RULES: ReasonedRule[] = [
  {
    why: "A ForeignCluster for each peer, deleted when nothing is left of the peering.",
    apiGroups: [CORE],
    resources: ["foreignclusters"],
    verbs: [...READ, "get", "create", "patch", "delete"],
  },
  { why: "How the peering is.", apiGroups: [CORE], resources: ["foreignclusters/status"], verbs: ["update"] },
  {
    why: "How the network module is.",
    apiGroups: [NETWORKING],
    resources: ["configurations", "connections", "gatewayservers", "gatewayclients"],
    verbs: READ,
  },
  {
    why: "How the authentication module is.",
    apiGroups: [AUTHENTICATION],
    resources: ["tenants", "identities"],
    verbs: READ,
  },
  { why: "How the offloading module is.", apiGroups: [OFFLOADING], resources: ["virtualnodes"], verbs: READ },
  {
    why: "The kubeconfigs that peers' API servers are looked at with.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: READ,
  },
  {
    why: "Virtual nodes, and the pods of their processes.",
    apiGroups: [""],
    resources: ["nodes", "pods"],
    verbs: READ,
  },
  { why: "Gateways.", apiGroups: ["apps"], resources: ["deployments"], verbs: READ },
];

/**
 * ClusterRole `liqo-remote-controlplane`: what a consumer's replicator may do in its tenant namespace (API specification, §11). It writes specs; the
 * status is what the provider grants, and comes back by reading. Which objects are the consumer's is judged at admission.
 */
export const REMOTE_CONTROLPLANE_RULES: ReasonedRule[] = [
  {
    why: "What the consumer asks for: specs, and the end of them.",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices", "renews"],
    verbs: [...CRUD, "deletecollection"],
  },
  {
    why: "What the provider has granted.",
    onlyWhen: "by consumers that run Liqo",
    apiGroups: [AUTHENTICATION],
    resources: ["resourceslices/status", "renews/status"],
    verbs: ["get"],
  },
  {
    why: "Which namespaces the consumer offloads: specs, and the end of them.",
    apiGroups: [OFFLOADING],
    resources: ["namespacemaps"],
    verbs: [...CRUD, "deletecollection"],
  },
  {
    why: "Which of them the provider has made.",
    onlyWhen: "by consumers that run Liqo",
    apiGroups: [OFFLOADING],
    resources: ["namespacemaps/status"],
    verbs: ["get"],
  },
  {
    why: "Where the gateway server that stands for the consumer is reached, so that its client follows it.",
    apiGroups: [NETWORKING],
    resources: ["gatewayservers"],
    verbs: READ,
  },
];

/**
 * ClusterRole `liqo-peering-user-tenant-ns`: for a person who peers without administering the provider (API specification, §11, and narrower: the
 * namespace's other Secrets hold the provider's own keys where it peers the other way as well, and IP resources would open its network to the
 * consumer). Which objects it may write is judged at admission.
 */
export const PEERING_USER_TENANT_NS_RULES: ReasonedRule[] = [
  {
    why: "Its tenant namespace, and the gateway's Service there.",
    apiGroups: [""],
    resources: ["namespaces", "services"],
    verbs: ["get"],
  },
  { why: "The nonce. Creating cannot be granted by name.", apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
  {
    why: "The nonce, by its name.",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["get", ...READ, "patch", "delete"],
    resourceNames: [Names.nonceSecret],
  },
  { why: "Whether the gateway is up.", apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] },
  {
    why: "The Tenant, which is the consumer's request to peer.",
    apiGroups: [AUTHENTICATION],
    resources: ["tenants"],
    verbs: CRUD,
  },
  {
    why: "The provider's half of the network.",
    apiGroups: [NETWORKING],
    resources: ["configurations", "gatewayclients", "gatewayservers", "publickeies"],
    verbs: CRUD,
  },
  {
    why: "Whether the tunnel is up.",
    apiGroups: [NETWORKING],
    resources: ["connections"],
    verbs: ["get", ...READ],
  },
];

/** Role `liqo-peering-user-liqo-ns`, in the installation's namespace (API specification, §11). */
export const PEERING_USER_LIQO_NS_RULES: ReasonedRule[] = [
  { why: "The cluster ID.", apiGroups: [""], resources: ["configmaps"], verbs: ["get", ...READ] },
  {
    why: "The API server's proxy.",
    onlyWhen: "for in-band peering",
    apiGroups: ["ipam.liqo.io"],
    resources: ["ips"],
    verbs: ["get", ...READ],
  },
  { why: "The cluster's ranges.", apiGroups: ["ipam.liqo.io"], resources: ["networks"], verbs: ["get", "list"] },
  {
    why: "Templates that gateways are made from.",
    apiGroups: [NETWORKING],
    resources: ["wggatewayclienttemplates", "wggatewayservertemplates"],
    verbs: ["get", "list"],
  },
];
