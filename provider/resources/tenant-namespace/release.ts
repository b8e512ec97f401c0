import {
  ConfigurationResource,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  Labels,
  NamespaceMapResource,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
} from "../../../agent/api/index.js";
import {
  isDeleting,
  isForbidden,
  isNotFound,
  NamespaceResource,
  PodResource,
  RoleBindingResource,
  type KubeClient,
  type KubeObject,
  type ListOptions,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { ifVisible, waitFor, waitUntilNone, withLimit, type Progress } from "../../waits/index.js";
import { findTenantNamespace } from "./find.js";
import { MANAGER } from "./labels.js";

/** What keeps a tenant namespace alive, whichever direction and tool it belongs to. */
const USES: readonly ResourceType[] = [
  TenantResource,
  IdentityResource,
  ResourceSliceResource,
  VirtualNodeResource,
  NamespaceMapResource,
  ConfigurationResource,
  GatewayServerResource,
  GatewayClientResource,
];

/** Pods and records that follow what was deleted: usually a matter of a second. */
const SETTLE_MS = 15_000;

/**
 * Deletes the tenant namespace if this provider made it and nothing of a peering is left in it, then waits for the agent to drop its record of the
 * remote cluster. Kubernetes takes some seconds over the empty namespace; that is not waited for (the next peering would).
 */
export async function releaseTenantNamespace(progress: Progress, peer: Peer, remoteClusterId: string): Promise<void> {
  const { client, side } = peer;
  const namespace = await findTenantNamespace(client, remoteClusterId, progress.signal);
  const name = namespace?.metadata?.name;
  if (!namespace || !name) return waitForForgetting(progress, peer, remoteClusterId);
  const used = await usesOf(client, name, progress.signal);
  if (used.length > 0) {
    progress.status(`${side}: tenant namespace ${name} stays, it still holds ${used.join(", ")}`);
    return;
  }
  await waitForForgetting(progress, peer, remoteClusterId);
  if (isDeleting(namespace)) return;
  if (namespace.metadata?.labels?.[Labels.appManagedBy] !== MANAGER) {
    progress.status(`${side}: tenant namespace ${name} stays, as it was not made here`);
    return;
  }
  // A pod that nobody has asked to end yet would delay the namespace by half its grace period.
  const filter = (pod: KubeObject): boolean => !isDeleting(pod);
  await waitUntilNone(withLimit(progress, SETTLE_MS), client, PodResource, { namespace: name, filter }).catch(
    (error: unknown) => {
      if (progress.signal.aborted) throw error;
    },
  );
  try {
    await client.delete(NamespaceResource, { name }, { uid: namespace.metadata?.uid, signal: progress.signal });
    progress.status(`${side}: tenant namespace ${name} is empty, the cluster removes it within seconds`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    progress.status(`${side}: tenant namespace ${name} stays, as the credentials may not delete it`);
  }
}

/** The uses found, as "Tenant my-tenant". Kinds that the cluster does not know any more are none. */
export async function usesOf(client: KubeClient, namespace: string, signal: AbortSignal): Promise<string[]> {
  const users = namesOf(client, RoleBindingResource, { namespace, labelSelector: Labels.peeringUserName, signal });
  const found = await Promise.all([...USES.map((type) => namesOf(client, type, { namespace, signal })), users]);
  return found.flat();
}

async function namesOf(client: KubeClient, type: ResourceType, options: ListOptions): Promise<string[]> {
  const list = await ifVisible(client.list(type, options));
  return (list?.items ?? []).map(({ metadata }) => `${type.kind} ${metadata?.name ?? ""}`);
}

/** Our agent deletes the ForeignCluster once nothing refers to it; Liqo keeps it with all modules off. Slower than expected is no failure. */
async function waitForForgetting(
  progress: Progress,
  { client, agent, side }: Peer,
  remoteClusterId: string,
): Promise<void> {
  if (!agent.isAvailable) return;
  try {
    await waitFor(withLimit(progress, SETTLE_MS), {
      client,
      type: ForeignClusterResource,
      name: remoteClusterId,
      what: `the end of ForeignCluster ${remoteClusterId}`,
      judge: ([foreignCluster]) => {
        const modules = Object.entries(foreignCluster?.status?.modules ?? {});
        const enabled = modules.filter(([, module]) => module.enabled).map(([name]) => name);
        if (!foreignCluster || (!agent.isOwn && enabled.length === 0)) return { done: undefined };
        return {
          waiting: enabled.length > 0 ? `${enabled.join(" and ")} still count as enabled` : "about to be deleted",
        };
      },
    });
  } catch (error) {
    if (progress.signal.aborted) throw error;
    if (!isNotFound(error)) progress.status(`${side}: the agent still lists cluster ${remoteClusterId}`);
  }
}
