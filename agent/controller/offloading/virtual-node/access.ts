import type { ServiceAccount } from "kubernetes-types/core/v1";
import type { ClusterRoleBinding } from "kubernetes-types/rbac/v1";
import {
  Labels,
  Names,
  VirtualNodeResource,
  virtualKubeletAccountName,
  virtualNodeClusterRoleBindingName,
  virtualNodeCustomRoleBindingName,
  type NamespaceMap,
  type VirtualNode,
} from "../../../api/index.js";
import { ownerReference } from "../../../runtime/index.js";

/** The account of a virtual node's process. */
export function serviceAccountOf(virtualNode: VirtualNode): ServiceAccount {
  return {
    metadata: {
      ...accountNameOf(virtualNode),
      labels: labelsOf(virtualNode),
      ownerReferences: [ownerReference(VirtualNodeResource, virtualNode)],
    },
  };
}

export function accountNameOf({ metadata: { name = "", namespace } }: VirtualNode): {
  name: string;
  namespace?: string;
} {
  return { name: virtualKubeletAccountName(name), namespace };
}

/** Cluster-wide, so that no namespaced object can own it: the VirtualNode's finalizer sees to its end. */
export function clusterRoleBindingOf(virtualNode: VirtualNode): ClusterRoleBinding {
  const { name = "" } = virtualNode.metadata;
  return {
    metadata: { name: virtualNodeClusterRoleBindingName(name), labels: labelsOf(virtualNode) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: Names.virtualKubeletLocalRole },
    subjects: [{ kind: "ServiceAccount", ...accountNameOf(virtualNode) }],
  };
}

/** The rights to custom resources, where the administrator has made a role for them. Ends as the other binding does. */
export function customRoleBindingOf(virtualNode: VirtualNode): ClusterRoleBinding {
  const binding = clusterRoleBindingOf(virtualNode);
  return {
    ...binding,
    metadata: { ...binding.metadata, name: virtualNodeCustomRoleBindingName(virtualNode.metadata.name ?? "") },
    roleRef: { ...binding.roleRef, name: Names.virtualKubeletLocalCustomRole },
  };
}

/** The one NamespaceMap towards a provider, shared by its virtual nodes; the replicator takes it there. */
export function namespaceMapOf(virtualNode: VirtualNode): Omit<NamespaceMap, "apiVersion" | "kind"> {
  const clusterID = virtualNode.spec.clusterID ?? "";
  return {
    metadata: {
      name: clusterID,
      namespace: virtualNode.metadata.namespace,
      labels: {
        [Labels.remoteClusterID]: clusterID,
        [Labels.remoteID]: clusterID,
        [Labels.replication]: "true",
      },
    },
    spec: {},
  };
}

function labelsOf(virtualNode: VirtualNode): Record<string, string> {
  return {
    [Labels.remoteClusterID]: virtualNode.spec.clusterID ?? "",
    [Labels.virtualNode]: virtualNode.metadata.name ?? "",
    [Labels.managed]: "true",
  };
}
