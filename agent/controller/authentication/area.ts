import type { Namespace, Node, Secret } from "kubernetes-types/core/v1";
import type { ClusterRoleBinding, RoleBinding } from "kubernetes-types/rbac/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import {
  IdentityResource,
  Labels,
  NamespaceMapResource,
  QuotaResource,
  RenewResource,
  ResourceSliceResource,
  TenantResource,
  type Identity,
  type NamespaceMap,
  type Quota,
  type Renew,
  type ResourceSlice,
  type Tenant,
} from "../../api/index.js";
import {
  ClusterRoleBindingResource,
  NamespaceResource,
  NodeResource,
  RoleBindingResource,
  SecretResource,
  StorageClassResource,
  type Informer,
} from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { ClusterKeys } from "./cluster-keys.js";

/** Who writes the fields that this area applies. */
export const FIELD_MANAGER = "liqo-controller-manager";

/** What the controllers of this area read. Secrets and bindings are watched by label, never all of them. */
export interface AuthenticationInformers {
  tenants: Informer<Tenant>;
  slices: Informer<ResourceSlice>;
  identities: Informer<Identity>;
  renews: Informer<Renew>;
  quotas: Informer<Quota>;
  namespaceMaps: Informer<NamespaceMap>;
  /** Tenant namespaces only. */
  namespaces: Informer<Namespace>;
  nonces: Informer<Secret>;
  signedNonces: Informer<Secret>;
  /** Kubeconfig Secrets of identities. */
  kubeconfigs: Informer<Secret>;
  roleBindings: Informer<RoleBinding>;
  clusterRoleBindings: Informer<ClusterRoleBinding>;
  storageClasses: Informer<StorageClass>;
  /** All of them, as other areas watch them. */
  nodes: Informer<Node>;
}

/** What every controller of this area is built from. */
export interface AuthenticationArea {
  context: ControllerContext;
  informers: AuthenticationInformers;
  keys: ClusterKeys;
}

export function makeArea(context: ControllerContext): AuthenticationArea {
  const { informers } = context;
  const secrets = (label: string): Informer<Secret> => informers.for(SecretResource, { labelSelector: label });
  return {
    context,
    keys: new ClusterKeys(context),
    informers: {
      tenants: informers.for(TenantResource),
      slices: informers.for(ResourceSliceResource),
      identities: informers.for(IdentityResource),
      renews: informers.for(RenewResource),
      quotas: informers.for(QuotaResource),
      namespaceMaps: informers.for(NamespaceMapResource),
      namespaces: informers.for(NamespaceResource, { labelSelector: Labels.tenantNamespace }),
      nonces: secrets(Labels.nonce),
      signedNonces: secrets(Labels.signedNonce),
      kubeconfigs: secrets(Labels.identityType),
      roleBindings: informers.for(RoleBindingResource, { labelSelector: Labels.remoteClusterID }),
      clusterRoleBindings: informers.for(ClusterRoleBindingResource, { labelSelector: Labels.remoteClusterID }),
      storageClasses: informers.for(StorageClassResource),
      nodes: informers.for(NodeResource),
    },
  };
}
