import type { Namespace } from "kubernetes-types/core/v1";
import { Annotations, Labels, Names, type NamespaceOffloadingPolicy } from "../../../api/index.js";
import { isDeleting } from "../../../runtime/index.js";
import { matchesLabelSelector } from "../label-selector.js";

const SYSTEM_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease"];

/** Whether a policy offloads a namespace that is there to stay. */
export function selects({ spec }: NamespaceOffloadingPolicy, namespace: Namespace, agentNamespace: string): boolean {
  return (
    !isDeleting(namespace) &&
    !isProtected(namespace, agentNamespace) &&
    matchesLabelSelector(spec.namespaceSelector, namespace.metadata?.labels)
  );
}

/**
 * Namespaces that no selector means, however wide it is: the cluster's own, the agent's, its volumes', its peers', and those that consumers have here, which are
 * the consumers' to offload.
 */
export function isProtected({ metadata = {} }: Namespace, agentNamespace: string): boolean {
  const { name = "", labels, annotations } = metadata;
  return (
    [...SYSTEM_NAMESPACES, agentNamespace, Names.storageNamespace].includes(name) ||
    labels?.[Labels.tenantNamespace] !== undefined ||
    annotations?.[Annotations.managedByNamespaceMap] !== undefined
  );
}
