import { setTimeout } from "node:timers/promises";
import type { ObjectMeta } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  ForeignClusterResource,
  IPResource,
  NamespaceOffloadingResource,
  NetworkResource,
  ResourceSliceResource,
  type ForeignCluster,
} from "../api/index.js";
import { Annotations } from "../api/annotations.js";
import type { KubeClient } from "../runtime/kube-client.js";
import { isNotFound } from "../runtime/kube-error.js";
import { describeObject, type KubeObject, type ResourceType } from "../runtime/resource-type.js";

/** How long peerings that were just ended may take to disappear. */
export const PEERINGS_GRACE_MS = 20_000;
const FIRST_LOOK_MS = 100;
const LOOK_MS = 1_000;
/** How many of those that remain a message names. */
const NAMED = 5;

export interface RefusalContext {
  client: KubeClient;
  signal: AbortSignal;
  /** Until when peerings that were just ended may take to disappear; milliseconds since the epoch. */
  deadline: number;
  status: (line: string) => void;
}

/**
 * Returns once nothing of peerings is left.
 *
 * @param remedy what else to do, as the message puts it: "set …"
 * @throws Error naming what still uses the agent at the deadline
 */
export async function refuseWhilePeered(
  { client, signal, deadline, status }: RefusalContext,
  clusterId: string,
  remedy: string,
): Promise<void> {
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LOOK_MS)) {
    const remaining = await remainingPeerings(client, signal);
    if (remaining.length === 0) return;
    if (Date.now() > deadline) {
      const more = remaining.length > NAMED ? ` and ${remaining.length - NAMED} more` : "";
      throw new Error(
        `cluster ${client.cluster}: the agent ${clusterId} is still in use by ${remaining.slice(0, NAMED).join(", ")}${more}: ` +
          `end its peerings and offloaded namespaces first, or ${remedy}`,
      );
    }
    status(`waiting for peerings to end: ${remaining[0] ?? ""}`);
    await setTimeout(wait, undefined, { signal });
  }
}

/** What of peerings is still there and would be torn by an uninstallation (control plane specification, §14). */
async function remainingPeerings(client: KubeClient, signal: AbortSignal): Promise<string[]> {
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

function hasEnabledModule({ status }: ForeignCluster): boolean {
  return Object.values(status?.modules ?? {}).some((module) => module?.enabled === true);
}

function isHeld({ annotations, finalizers }: ObjectMeta): boolean {
  return annotations?.[Annotations.preinstalled] !== "true" && (finalizers?.length ?? 0) > 0;
}
