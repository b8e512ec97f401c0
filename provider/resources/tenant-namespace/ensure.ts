import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { isAlreadyExists, isDeleting, NamespaceResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { waitUntilGone, type Progress } from "../../waits/index.js";
import { findTenantNamespace } from "./find.js";
import { MANAGER, tenantNamespaceLabels } from "./labels.js";

export interface EnsuredNamespace {
  name: string;
  existed: boolean;
}

/** The tenant namespace of a remote cluster, made when there is none; one that is just being deleted is waited for first. */
export async function ensureTenantNamespace(
  progress: Progress,
  peer: Peer,
  remoteClusterId: string,
): Promise<EnsuredNamespace> {
  const { client } = peer;
  const present = await findTenantNamespace(client, remoteClusterId, progress.signal);
  const presentName = present?.metadata?.name;
  if (presentName && !isDeleting(present)) return { name: presentName, existed: true };
  if (presentName) await waitUntilGone(progress, client, NamespaceResource, { name: presentName });
  const name = tenantNamespaceName(remoteClusterId);
  const labels = tenantNamespaceLabels(remoteClusterId);
  try {
    const metadata = { name, labels: { ...labels, [Labels.appManagedBy]: MANAGER } };
    await client.create(NamespaceResource, { metadata }, { fieldManager: MANAGER, signal: progress.signal });
    return { name, existed: false };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // Someone else's of that name, or made this very moment by a resource beside this one: it needs the labels.
  await client.apply(
    NamespaceResource,
    { metadata: { name, labels } },
    { fieldManager: MANAGER, signal: progress.signal },
  );
  return { name, existed: true };
}
