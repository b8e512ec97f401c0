import type { ObjectMeta } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  ForeignClusterResource,
  IPResource,
  NamespaceOffloadingResource,
  NetworkResource,
  ResourceSliceResource,
  type ForeignCluster,
} from "../../../agent/api/index.js";
import { Annotations } from "../../../agent/api/annotations.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isNotFound } from "../../../agent/runtime/kube-error.js";
import { describeObject, type KubeObject, type ResourceType } from "../../../agent/runtime/resource-type.js";

/** What of peerings is still there and would be torn by an uninstallation (control plane specification, §14). */
export async function remainingPeerings(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const find = async <T extends KubeObject>(
    type: ResourceType<T>,
    counts: (object: T) => boolean,
  ): Promise<string[]> => {
    try {
      const { items } = await client.list(type, { signal });
      return items.filter(counts).map((one) => describeObject(type, one.metadata?.name ?? "", one.metadata?.namespace));
    } catch (error) {
      // Not even the kind is there.
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  const found = await Promise.all([
    find(ForeignClusterResource, hasEnabledModule),
    find(NamespaceOffloadingResource, () => true),
    find(ResourceSliceResource, () => true),
    find(ConfigurationResource, () => true),
    find(IPResource, ({ metadata }) => isHeld(metadata)),
    find(NetworkResource, ({ metadata }) => isHeld(metadata)),
  ]);
  return found.flat();
}

export function hasEnabledModule({ status }: ForeignCluster): boolean {
  return Object.values(status?.modules ?? {}).some((module) => module?.enabled === true);
}

function isHeld({ annotations, finalizers }: ObjectMeta): boolean {
  return annotations?.[Annotations.preinstalled] !== "true" && (finalizers?.length ?? 0) > 0;
}
