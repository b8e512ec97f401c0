import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { isForbidden, NamespaceResource, type KubeClient } from "../../../agent/runtime/index.js";
import type { ObjectMetadata } from "../../framework/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import type { Pair } from "../../preconditions/index.js";
import { MANAGER } from "./labels.js";

/**
 * The namespace that holds everything of one remote cluster, found by its labels; credentials that may not list namespaces see the one of
 * the default name (control plane specification, §18).
 *
 * @throws Error when there are several
 */
export async function findTenantNamespace(
  client: KubeClient,
  remoteClusterId: string,
  signal?: AbortSignal,
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

/** The name of the tenant namespace for a remote cluster: its own, or how it will be called. Without a client, as nothing else is known. */
export async function expectedNamespace(
  client: KubeClient | undefined,
  remoteClusterId: string,
  signal: AbortSignal,
): Promise<string> {
  const found = client && (await findTenantNamespace(client, remoteClusterId, signal));
  return nameFor(found, remoteClusterId);
}

/** The name that a tenant namespace has, or will have once it is made. */
export function nameFor(found: Namespace | undefined, remoteClusterId: string): string {
  return found?.metadata?.name ?? tenantNamespaceName(remoteClusterId);
}

/** The tenant namespaces of a pair, as far as they are there. */
export interface TenantNamespaces {
  consumer?: Namespace;
  provider?: Namespace;
}

export async function findTenantNamespaces(
  { consumer, provider }: Pair,
  signal: AbortSignal,
): Promise<TenantNamespaces> {
  const [local, remote] = await Promise.all([
    findTenantNamespace(consumer.client, provider.clusterId, signal),
    findTenantNamespace(provider.client, consumer.clusterId, signal),
  ]);
  return { consumer: local, provider: remote };
}

/** Their names; "" for one that is not there. */
export function namesOf({ consumer, provider }: TenantNamespaces): { consumer: string; provider: string } {
  return { consumer: consumer?.metadata?.name ?? "", provider: provider?.metadata?.name ?? "" };
}

/** Which of them, as far as they were made here, lack labels or annotations that the inputs ask for. */
export function namespaceDeviations(namespaces: TenantNamespaces, inputs: Partial<ObjectMetadata>): string[] {
  return (["consumer", "provider"] as const).flatMap((side) => {
    const namespace = namespaces[side];
    if (namespace?.metadata?.labels?.[Labels.appManagedBy] !== MANAGER) return [];
    return deviationsOf(namespace, addObjectMetadata({}, inputs), side);
  });
}

/** The names that they have, or will have once they are made. */
export async function expectedNamespaces(
  pair: Pair,
  signal: AbortSignal,
): Promise<{ consumer: string; provider: string }> {
  const found = await findTenantNamespaces(pair, signal);
  return {
    consumer: nameFor(found.consumer, pair.provider.clusterId),
    provider: nameFor(found.provider, pair.consumer.clusterId),
  };
}
