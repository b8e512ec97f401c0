import { setTimeout } from "node:timers/promises";
import type { ObjectMeta } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  ForeignClusterResource,
  IPResource,
  NamespaceOffloadingResource,
  NetworkResource,
  ResourceSliceResource,
  VirtualNodeResource,
  type ForeignCluster,
  type NamespaceOffloading,
} from "../api/index.js";
import { Annotations } from "../api/annotations.js";
import { Labels } from "../api/labels.js";
import type { KubeClient } from "../runtime/kube-client.js";
import { isNotFound } from "../runtime/kube-error.js";
import { listed } from "../runtime/listed.js";
import { isDeleting } from "../runtime/metadata.js";
import { describeObject, type KubeObject, type ResourceType } from "../runtime/resource-type.js";

/** How long what remains of peerings may show no sign of ending; one `pulumi destroy` ends them beside the agent. */
export const PEERINGS_GRACE_MS = 20_000;
const FIRST_LOOK_MS = 100;
const LOOK_MS = 1_000;
/** How many of those that remain a message names. */
const NAMED = 5;

export interface RefusalContext {
  client: KubeClient;
  signal: AbortSignal;
  /** How long what remains may show no sign of ending, milliseconds. Default: {@link PEERINGS_GRACE_MS}. */
  graceMs?: number;
  /** When to refuse whatever is still ending; milliseconds since the epoch. */
  deadline: number;
  status: (line: string) => void;
  /** Whether who asks is about to end, with their policies, NamespaceOffloadings that serve no provider. Default: they count. */
  endsPolicies?: boolean;
}

/**
 * Returns once nothing of peerings is left. What is ending is waited for: draining a virtual node, say, takes as long as its pods do.
 *
 * @param remedy what else to do, as the message puts it: "set …"
 * @throws Error naming what still uses the agent, and is not about to go
 */
export async function refuseWhilePeered(
  { client, signal, graceMs = PEERINGS_GRACE_MS, deadline, status, endsPolicies = false }: RefusalContext,
  clusterId: string,
  remedy: string,
): Promise<void> {
  let patience = Date.now() + graceMs;
  let before = Infinity;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LOOK_MS)) {
    const remaining = await remainingPeerings(client, signal, (offloading) =>
      endsPolicies ? !isOfIdlePolicy(offloading) : true,
    );
    const [first] = remaining;
    if (!first) return;
    if (remaining.length < before || remaining.some(({ isEnding }) => isEnding)) patience = Date.now() + graceMs;
    before = remaining.length;
    if (Date.now() > Math.min(patience, deadline)) {
      const names = remaining.map(({ name }) => name);
      throw new Error(
        `cluster ${client.cluster}: the agent ${clusterId} is still in use by ${listed(names, NAMED)}: ` +
          `end its peerings and offloaded namespaces first, or ${remedy}`,
      );
    }
    status(`waiting for peerings to end: ${first.name}`);
    await setTimeout(wait, undefined, { signal });
  }
}

interface Remaining {
  name: string;
  isEnding: boolean;
}

/** What of peerings is still there and would be torn by an uninstallation (control plane specification, §14). */
async function remainingPeerings(
  client: KubeClient,
  signal: AbortSignal,
  offloads: (offloading: NamespaceOffloading) => boolean,
): Promise<Remaining[]> {
  const find = async <T extends KubeObject>(
    type: ResourceType<T>,
    counts: (object: T) => boolean,
  ): Promise<Remaining[]> => {
    try {
      const { items } = await client.list(type, { signal });
      return items.filter(counts).map((one) => ({
        name: describeObject(type, one.metadata?.name ?? "", one.metadata?.namespace) + makerOf(one),
        isEnding: isDeleting(one),
      }));
    } catch (error) {
      // Not even the kind is there.
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  const found = await Promise.all([
    find(ForeignClusterResource, hasEnabledModule),
    find(NamespaceOffloadingResource, offloads),
    find(ResourceSliceResource, () => true),
    find(VirtualNodeResource, () => true),
    find(ConfigurationResource, () => true),
    find(IPResource, ({ metadata }) => isHeld(metadata)),
    find(NetworkResource, ({ metadata }) => isHeld(metadata)),
  ]);
  return found.flat();
}

function hasEnabledModule({ status }: ForeignCluster): boolean {
  return Object.values(status?.modules ?? {}).some((module) => module?.enabled === true);
}

/** Ending it alone would not do. */
function makerOf({ metadata }: KubeObject): string {
  const policy = metadata?.labels?.[Labels.offloadingPolicy];
  return policy === undefined ? "" : ` (made by NamespaceOffloadingPolicy ${policy})`;
}

/** Whether a policy wants the namespace offloaded, and no provider has it. */
function isOfIdlePolicy({ metadata, status }: NamespaceOffloading): boolean {
  const isOfPolicy = metadata.labels?.[Labels.offloadingPolicy] !== undefined;
  return isOfPolicy && Object.keys(status?.remoteNamespacesConditions ?? {}).length === 0;
}

function isHeld({ annotations, finalizers }: ObjectMeta): boolean {
  return annotations?.[Annotations.preinstalled] !== "true" && (finalizers?.length ?? 0) > 0;
}
