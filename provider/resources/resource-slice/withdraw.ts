import {
  Annotations,
  IdentityResource,
  Labels,
  QuotaResource,
  remoteCertificateSecretName,
  resourceSliceIdentityName,
  sliceKubeconfigSecretName,
  ResourceSliceResource,
  sliceUserName,
  VirtualNodeResource,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { PodResource, SecretResource } from "../../../agent/runtime/index.js";
import type { DepartingPair, Peer } from "../../preconditions/index.js";
import {
  describeRemaining,
  ifFound,
  ifVisible,
  letDepart,
  waitFor,
  waitUntilGone,
  type Progress,
} from "../../waits/index.js";
import { declareUnreachable } from "../authentication/revoke.js";
import { explainAgent } from "../network-link/explain.js";
import { findTenantNamespace } from "../tenant-namespace/index.js";
import { usesSlice } from "./used-by.js";

/**
 * Gives a slice back: the virtual node first, so that its pods leave with identity and quota still there, then the slice, then what the provider
 * keeps of it (control plane specification, §14).
 */
export async function withdraw(progress: Progress, pair: DepartingPair, name: string): Promise<void> {
  const { consumer, provider, consumerId, providerId } = pair;
  if (consumer) await withdrawAtConsumer(progress, consumer, providerId, name, provider === undefined);
  if (provider) await withdrawAtProvider(progress, provider, consumerId, name, consumer === undefined);
}

async function withdrawAtConsumer(
  progress: Progress,
  consumer: Peer,
  providerId: string,
  name: string,
  isProviderLost: boolean,
): Promise<void> {
  const namespace = (await findTenantNamespace(consumer.client, providerId, progress.signal))?.metadata?.name;
  if (!namespace) return;
  if (isProviderLost) await declareUnreachable(progress, { ...consumer, remoteId: providerId });
  const id = { name, namespace };
  // What is refused, as for data that would be lost, must be refused before anything is changed.
  await ifFound(consumer.client.delete(VirtualNodeResource, id, { dryRun: true, signal: progress.signal }));
  // Or the agent would make the virtual node again.
  const patch = { metadata: { annotations: { [Annotations.createVirtualNode]: null } } };
  await ifFound(consumer.client.mergePatch(ResourceSliceResource, id, patch, { signal: progress.signal }));
  await deleteVirtualNode(progress, consumer, id);
  // Nodes of other makers that work with this slice need its identity to take their pods home.
  await ifFound(
    letDepart(progress, {
      client: consumer.client,
      type: VirtualNodeResource,
      namespace,
      filter: (virtualNode) => usesSlice(virtualNode, name),
      what: `the end of the virtual nodes of ResourceSlice ${name}`,
    }),
  );
  await ifFound(consumer.client.delete(ResourceSliceResource, id, { signal: progress.signal }));
  await gone(progress, consumer, ResourceSliceResource, id);
  await Promise.all([
    gone(progress, consumer, IdentityResource, { name: resourceSliceIdentityName(name), namespace }),
    waitUntilGone(progress, consumer.client, SecretResource, {
      name: sliceKubeconfigSecretName(name),
      namespace,
    }),
  ]);
  progress.status(`consumer: ResourceSlice ${name} deleted`);
}

/** Drains and deletes a virtual node. The agent evicts its pods and waits for them to go. */
export async function deleteVirtualNode(
  progress: Progress,
  consumer: Peer,
  id: { name: string; namespace: string },
): Promise<void> {
  const { client } = consumer;
  const existed = await ifFound(client.delete(VirtualNodeResource, id, { signal: progress.signal }));
  if (!existed) return;
  progress.status(`consumer: virtual node ${id.name} is being drained`);
  await ifFound(
    waitFor<VirtualNode, void>(progress, {
      client,
      type: VirtualNodeResource,
      ...id,
      what: `the end of VirtualNode ${id.namespace}/${id.name}`,
      judge: ([virtualNode]) => (virtualNode ? { waiting: describeDrain(virtualNode) } : { done: undefined }),
      explain: (signal) => explainDrain(consumer, id.name, signal),
    }),
  );
  progress.status(`consumer: virtual node ${id.name} deleted`);
}

/** How far a deletion is, in the agent's own words where it has some. */
export function describeDrain(virtualNode: VirtualNode): string {
  const active = (virtualNode.status?.conditions ?? [])
    .filter(({ status }) => status === "Draining" || status === "Deleting")
    .map(({ type, status, message }) => `${type} ${status}${message ? ` (${message})` : ""}`);
  return active.length > 0 ? active.join(", ") : describeRemaining([virtualNode]);
}

/** The pods that hold a drain up. */
async function explainDrain(consumer: Peer, node: string, signal: AbortSignal): Promise<string | undefined> {
  const { items } = await consumer.client.list(PodResource, { fieldSelector: `spec.nodeName=${node}`, signal });
  if (items.length === 0) return explainAgent(consumer, signal);
  const names = items.map(({ metadata }) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`);
  const shown = names.slice(0, 5).join(", ") + (names.length > 5 ? " …" : "");
  return `${names.length} pods are still on the node: ${shown} (a PodDisruptionBudget may forbid their eviction)`;
}

/** The copy goes with its source, or here when the source's cluster is lost; the certificate would otherwise stay. */
async function withdrawAtProvider(
  progress: Progress,
  provider: Peer,
  consumerId: string,
  name: string,
  isConsumerLost: boolean,
): Promise<void> {
  const namespace = (await findTenantNamespace(provider.client, consumerId, progress.signal))?.metadata?.name;
  if (!namespace) return;
  const { client } = provider;
  const id = { name, namespace };
  const copy = await ifVisible(client.get(ResourceSliceResource, id, progress.signal));
  if (copy?.metadata.labels?.[Labels.originID] === consumerId) {
    if (isConsumerLost) await client.delete(ResourceSliceResource, id, { signal: progress.signal });
    await gone(progress, provider, ResourceSliceResource, id);
  }
  await gone(progress, provider, QuotaResource, { name: sliceUserName(name, consumerId), namespace });
  const certificate = { name: remoteCertificateSecretName(name), namespace };
  await ifVisible(client.delete(SecretResource, certificate, { signal: progress.signal }));
  progress.status(`provider: nothing left of ResourceSlice ${name}`);
}

async function gone(
  progress: Progress,
  peer: Peer,
  type: Parameters<typeof waitUntilGone>[2],
  id: { name: string; namespace: string },
): Promise<void> {
  await ifVisible(waitUntilGone(progress, peer.client, type, id, (signal) => explainAgent(peer, signal)));
}
