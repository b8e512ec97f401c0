import type { Namespace } from "kubernetes-types/core/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import { Annotations, Labels, Names, type NamespaceMap } from "../../../api/index.js";
import { keyOf } from "../../../runtime/index.js";

/** The namespace that a NamespaceMap asks for (offloading specification, §4.4). */
export function remoteNamespaceOf(map: NamespaceMap, local: string, remote: string, consumerID: string): Namespace {
  return {
    metadata: {
      name: remote,
      labels: { [Labels.remoteClusterID]: consumerID },
      annotations: { [Annotations.managedByNamespaceMap]: keyOf(map), [Annotations.originalName]: local },
    },
  };
}

/** Lets the consumer's virtual nodes work in the namespace. */
export function roleBindingOf(map: NamespaceMap, remote: string, consumerID: string): RoleBinding {
  return {
    metadata: {
      name: map.metadata.namespace,
      namespace: remote,
      labels: { [Labels.remoteClusterID]: consumerID, [Labels.managed]: "true" },
    },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: Names.virtualKubeletRemoteRole },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: consumerID }],
  };
}

/** Lets them reflect custom resources there, too, where the administrator has made a role for that. */
export function customRoleBindingOf(map: NamespaceMap, remote: string, consumerID: string): RoleBinding {
  const binding = roleBindingOf(map, remote, consumerID);
  return {
    ...binding,
    metadata: { ...binding.metadata, name: `${map.metadata.namespace}-custom-resources` },
    roleRef: { ...binding.roleRef, name: Names.virtualKubeletRemoteCustomRole },
  };
}

/** Whether the namespace was made for this entry of this map. A namespace of any other making is never adopted. */
export function isManagedBy(namespace: Namespace, map: NamespaceMap, local: string): boolean {
  const annotations = namespace.metadata?.annotations ?? {};
  return (
    annotations[Annotations.managedByNamespaceMap] === keyOf(map) && annotations[Annotations.originalName] === local
  );
}

export function managingMap(namespace: Namespace): string[] {
  const key = namespace.metadata?.annotations?.[Annotations.managedByNamespaceMap];
  return key ? [key] : [];
}
