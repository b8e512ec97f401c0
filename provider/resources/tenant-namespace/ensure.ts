import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, tenantNamespaceName } from "../../../agent/api/index.js";
import { isAlreadyExists, isDeleting, NamespaceResource, type KubeClient } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { markSharedNamespace } from "../../kube/object-metadata.js";
import { RecentAnswers } from "../../kube/recent-answers.js";
import { waitUntilGone, type Progress } from "../../waits/index.js";
import { findTenantNamespace } from "./find.js";
import { MANAGER, tenantNamespaceLabels } from "./labels.js";

export interface EnsuredNamespace {
  name: string;
  /** Before it was asked for: for all who ask at the moment in which it is made, it is new. */
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
  { client }: Peer,
  remoteClusterId: string,
): Promise<EnsuredNamespace & { namespace: Namespace }> {
  for (;;) {
    const { namespace, existed } = await findOrMakeOnce(client, remoteClusterId, progress.signal);
    const name = namespace.metadata?.name ?? "";
    if (!isDeleting(namespace)) return { name, existed, namespace };
    await waitUntilGone(progress, client, NamespaceResource, { name });
  }
}

interface Made {
  namespace: Namespace;
  existed: boolean;
}

/** By remote cluster. */
const made = new Map<string, RecentAnswers<Made>>();

/**
 * The resources of a Peering need the same two namespaces at the same moment: the first of them makes them for both, so that neither takes for an old one
 * what the other has only just made. What was made is looked for anew by who comes later.
 */
function findOrMakeOnce(client: KubeClient, remoteClusterId: string, signal: AbortSignal): Promise<Made> {
  const ask = (asked: KubeClient): Promise<Made> => findOrMake(asked, remoteClusterId);
  const answers = made.get(remoteClusterId) ?? new RecentAnswers(Infinity, ask, () => false);
  made.set(remoteClusterId, answers);
  return answers.get(client, signal);
}

async function findOrMake(client: KubeClient, remoteClusterId: string): Promise<Made> {
  const present = await findTenantNamespace(client, remoteClusterId);
  if (present) return { namespace: present, existed: true };
  const name = tenantNamespaceName(remoteClusterId);
  const labels = tenantNamespaceLabels(remoteClusterId);
  const options = { fieldManager: MANAGER };
  try {
    const metadata = { name, labels: { ...labels, [Labels.appManagedBy]: MANAGER } };
    return { namespace: await client.create(NamespaceResource, { metadata }, options), existed: false };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // Someone else's of that name, or made this very moment by a program beside this one: it needs the labels.
  const namespace = await client.apply(NamespaceResource, { metadata: { name, labels } }, options);
  return { namespace, existed: true };
}
