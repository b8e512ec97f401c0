import type { ServiceAccount } from "kubernetes-types/core/v1";
import type { ClusterRoleBinding } from "kubernetes-types/rbac/v1";
import {
  Labels,
  Names,
  VirtualNodeResource,
  virtualNodeClusterRoleBindingName,
  type NamespaceMap,
  type VirtualNode,
} from "../../../api/index.js";
import { ownerReference } from "../../../runtime/index.js";

/** The account of a virtual node's process, named as the VirtualNode. */
export function serviceAccountOf(virtualNode: VirtualNode): ServiceAccount {
  const { name, namespace } = virtualNode.metadata;
  return {
    metadata: {
      name,
      namespace,
      labels: labelsOf(virtualNode),
      ownerReferences: [ownerReference(VirtualNodeResource, virtualNode)],
    },
  };
}

/** Cluster-wide, so that no namespaced object can own it: the VirtualNode's finalizer sees to its end. */
export function clusterRoleBindingOf(virtualNode: VirtualNode): ClusterRoleBinding {
  const { name = "", namespace } = virtualNode.metadata;
  return {
    metadata: { name: virtualNodeClusterRoleBindingName(name), labels: labelsOf(virtualNode) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: Names.virtualKubeletLocalRole },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
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
