import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { isAlreadyExists, isDeleting, NamespaceResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { markSharedNamespace } from "../../kube/object-metadata.js";
import { waitUntilGone, type Progress } from "../../waits/index.js";
import { findTenantNamespace } from "./find.js";
import { MANAGER, tenantNamespaceLabels } from "./labels.js";

export interface EnsuredNamespace {
  name: string;
  existed: boolean;
}

/**
 * The tenant namespace of a remote cluster, made when there is none; one that is just being deleted is waited for first.
 *
 * @param user the resource that needs it: its labels and annotations are put on a namespace of ours, apart from those of others
 */
export async function ensureTenantNamespace(
  progress: Progress,
  peer: Peer,
  remoteClusterId: string,
  user: "NetworkLink" | "Authentication" | "PeeringUser",
): Promise<EnsuredNamespace> {
  const { namespace, ...result } = await ensure(progress, peer, remoteClusterId);
  if (namespace.metadata?.labels?.[Labels.appManagedBy] === MANAGER) {
    const consumer = peer.side === "consumer" ? peer.clusterId : remoteClusterId;
    await markSharedNamespace(peer.client, namespace, `${MANAGER}/${user}/${consumer}`, progress.signal);
  }
  return result;
}

async function ensure(
  progress: Progress,
  peer: Peer,
  remoteClusterId: string,
): Promise<EnsuredNamespace & { namespace: Namespace }> {
  const { client } = peer;
  const present = await findTenantNamespace(client, remoteClusterId, progress.signal);
  const presentName = present?.metadata?.name;
  if (presentName && !isDeleting(present)) return { name: presentName, existed: true, namespace: present };
  if (presentName) await waitUntilGone(progress, client, NamespaceResource, { name: presentName });
  const name = tenantNamespaceName(remoteClusterId);
  const labels = tenantNamespaceLabels(remoteClusterId);
  try {
    const metadata = { name, labels: { ...labels, [Labels.appManagedBy]: MANAGER } };
    const options = { fieldManager: MANAGER, signal: progress.signal };
    return { name, existed: false, namespace: await client.create(NamespaceResource, { metadata }, options) };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // Someone else's of that name, or made this very moment by a resource beside this one: it needs the labels.
  const namespace = await client.apply(
    NamespaceResource,
    { metadata: { name, labels } },
    { fieldManager: MANAGER, signal: progress.signal },
  );
  return { name, existed: true, namespace };
}
