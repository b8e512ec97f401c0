import type { Deployment, DaemonSet } from "kubernetes-types/apps/v1";
import type {
  ConfigMap,
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
} from "kubernetes-types/core/v1";
import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import type { Lease } from "kubernetes-types/coordination/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { Ingress, IngressClass } from "kubernetes-types/networking/v1";
import type { RuntimeClass } from "kubernetes-types/node/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "kubernetes-types/rbac/v1";
import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "kubernetes-types/admissionregistration/v1";
import type { KubeObject, ResourceType } from "./resource-type.js";

function core<T extends KubeObject>(kind: string, plural: string, namespaced = true): ResourceType<T> {
  return { group: "", version: "v1", kind, plural, namespaced };
}

function grouped<T extends KubeObject>(
  group: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): ResourceType<T> {
  return { group, version: "v1", kind, plural, namespaced };
}

const RBAC = "rbac.authorization.k8s.io";
const ADMISSION = "admissionregistration.k8s.io";

export const ConfigMapResource = core<ConfigMap>("ConfigMap", "configmaps");
export const EventResource = core<Event>("Event", "events");
export const NamespaceResource = core<Namespace>("Namespace", "namespaces", false);
export const NodeResource = core<Node>("Node", "nodes", false);
export const PersistentVolumeResource = core<PersistentVolume>("PersistentVolume", "persistentvolumes", false);
export const PersistentVolumeClaimResource = core<PersistentVolumeClaim>(
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const PodResource = core<Pod>("Pod", "pods");
export const SecretResource = core<Secret>("Secret", "secrets");
export const ServiceResource = core<Service>("Service", "services");
export const ServiceAccountResource = core<ServiceAccount>("ServiceAccount", "serviceaccounts");
export const DeploymentResource = grouped<Deployment>("apps", "Deployment", "deployments", true);
export const DaemonSetResource = grouped<DaemonSet>("apps", "DaemonSet", "daemonsets", true);
export const LeaseResource = grouped<Lease>("coordination.k8s.io", "Lease", "leases", true);
export const EndpointSliceResource = grouped<EndpointSlice>(
  "discovery.k8s.io",
  "EndpointSlice",
  "endpointslices",
  true,
);
export const IngressResource = grouped<Ingress>("networking.k8s.io", "Ingress", "ingresses", true);
export const IngressClassResource = grouped<IngressClass>("networking.k8s.io", "IngressClass", "ingressclasses", false);
export const RuntimeClassResource = grouped<RuntimeClass>("node.k8s.io", "RuntimeClass", "runtimeclasses", false);
export const StorageClassResource = grouped<StorageClass>("storage.k8s.io", "StorageClass", "storageclasses", false);
export const CertificateSigningRequestResource = grouped<CertificateSigningRequest>(
  "certificates.k8s.io",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  false,
);
export const ClusterRoleResource = grouped<ClusterRole>(RBAC, "ClusterRole", "clusterroles", false);
export const ClusterRoleBindingResource = grouped<ClusterRoleBinding>(
  RBAC,
  "ClusterRoleBinding",
  "clusterrolebindings",
  false,
);
export const RoleResource = grouped<Role>(RBAC, "Role", "roles", true);
export const RoleBindingResource = grouped<RoleBinding>(RBAC, "RoleBinding", "rolebindings", true);
export const CustomResourceDefinitionResource = grouped<CustomResourceDefinition>(
  "apiextensions.k8s.io",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  false,
);
export const MutatingWebhookConfigurationResource = grouped<MutatingWebhookConfiguration>(
  ADMISSION,
  "MutatingWebhookConfiguration",
  "mutatingwebhookconfigurations",
  false,
);
export const ValidatingWebhookConfigurationResource = grouped<ValidatingWebhookConfiguration>(
  ADMISSION,
  "ValidatingWebhookConfiguration",
  "validatingwebhookconfigurations",
  false,
);
