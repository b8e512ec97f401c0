import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { isForbidden, NamespaceResource, type KubeClient } from "../../../agent/runtime/index.js";

/**
 * The namespace that holds everything of one remote cluster, found by its labels; credentials that may not list namespaces see the one of
 * the default name (control plane specification, §18).
 *
 * @throws Error when there are several
 */
export async function findTenantNamespace(
  client: KubeClient,
  remoteClusterId: string,
  signal: AbortSignal,
): Promise<Namespace | undefined> {
  const labelSelector = `${Labels.tenantNamespace},${Labels.remoteClusterID}=${remoteClusterId}`;
  try {
    const { items } = await client.list(NamespaceResource, { labelSelector, signal });
    if (items.length <= 1) return items[0];
    const names = items.map(({ metadata }) => metadata?.name).join(", ");
    throw new Error(
      `cluster ${client.cluster}: the namespaces ${names} are all labelled as tenant namespace of ${remoteClusterId}: only one may be`,
    );
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return client.get(NamespaceResource, { name: tenantNamespaceName(remoteClusterId) }, signal);
  }
}
