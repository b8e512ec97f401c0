import type { Secret } from "kubernetes-types/core/v1";
import {
  Annotations,
  ForeignClusterResource,
  IdentityResource,
  Labels,
  NamespaceMapResource,
  Names,
  RenewResource,
  ResourceSliceResource,
  TenantResource,
} from "../../../agent/api/index.js";
import {
  SecretResource,
  isForbidden,
  messageOf,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { DepartingPair } from "../../preconditions/index.js";
import { ifFound, ifVisible, waitUntilNone, type Progress } from "../../waits/index.js";
import { findTenantNamespace, releaseTenantNamespace } from "../tenant-namespace/index.js";
import { waitForDepartingSlices } from "./departing-slices.js";
import { isByHand, unbindUser } from "./own-identity.js";
import type { Party } from "./party.js";

/**
 * Takes the consumer's identity and the provider's Tenant back, in the order that lets the consumer clean up with its rights while it still has them
 * (control plane specification, §14): slices first, then the identity, once that is gone the Tenant.
 *
 * @param isOwnIdentity whether the program has brought the identity along: one made by hand is otherwise its maker's
 */
export async function revoke(progress: Progress, pair: DepartingPair, isOwnIdentity: boolean): Promise<void> {
  const { consumerId, providerId } = pair;
  const [consumer, provider] = await Promise.all([
    pair.consumer && departing(progress, { ...pair.consumer, remoteId: providerId }),
    pair.provider && departing(progress, { ...pair.provider, remoteId: consumerId }),
  ]);
  if (consumer) {
    const isProviderLost = provider === undefined && pair.provider === undefined;
    await removeConsumerSide(progress, consumer, isProviderLost, isOwnIdentity);
  }
  if (provider) {
    await removeProviderSide(progress, provider, pair.consumer === undefined);
    if (isOwnIdentity) await ifVisible(unbindUser(progress, provider));
  }
  await Promise.all([
    pair.consumer && releaseTenantNamespace(progress, pair.consumer, providerId),
    pair.provider && releaseTenantNamespace(progress, pair.provider, consumerId),
  ]);
}

async function departing(progress: Progress, peer: Omit<Party, "namespace">): Promise<Party | undefined> {
  const namespace = await findTenantNamespace(peer.client, peer.remoteId, progress.signal);
  const name = namespace?.metadata?.name;
  return name ? { ...peer, namespace: name } : undefined;
}

async function removeConsumerSide(
  progress: Progress,
  consumer: Party,
  isProviderLost: boolean,
  isOwnIdentity: boolean,
): Promise<void> {
  if (isProviderLost) await declareUnreachable(progress, consumer);
  await waitForDepartingSlices(progress, consumer);
  const labelSelector = { [Labels.remoteClusterID]: consumer.remoteId };
  const isControlPlane = (object: KubeObject): boolean =>
    (object as { spec?: { type?: string } }).spec?.type === "ControlPlane";
  await deleteSome(progress, consumer, IdentityResource, { labelSelector, filter: isControlPlane });
  await ifFound(
    waitUntilNone(progress, consumer.client, IdentityResource, {
      namespace: consumer.namespace,
      labelSelector,
      filter: isControlPlane,
    }),
  );
  // Renew and kubeconfig are collected after their owner; the Secret is held until nothing of the consumer is replicated any more.
  const renewal = { namespace: consumer.namespace, labelSelector: { [Labels.remoteID]: consumer.remoteId } };
  const kubeconfigs = {
    namespace: consumer.namespace,
    labelSelector: { ...labelSelector, [Labels.identityType]: "ControlPlane" },
    filter: (secret: KubeObject) => isOwnIdentity || !isByHand(secret),
  };
  if (isOwnIdentity) await deleteSome(progress, consumer, SecretResource, kubeconfigs);
  await Promise.all([
    ifFound(waitUntilNone(progress, consumer.client, RenewResource, renewal)),
    waitUntilNone(progress, consumer.client, SecretResource, kubeconfigs),
  ]);
  progress.status(`consumer: ${isOwnIdentity ? "kubeconfig of the identity" : "Identity"} deleted`);
  await deleteSecrets(progress, consumer, ({ metadata }) => metadata?.labels?.[Labels.signedNonce] !== undefined);
}

async function removeProviderSide(progress: Progress, provider: Party, isConsumerLost: boolean): Promise<void> {
  if (isConsumerLost) await removeCopies(progress, provider);
  const filter = (object: KubeObject): boolean =>
    ((object as { spec?: { clusterID?: string } }).spec?.clusterID ?? provider.remoteId) === provider.remoteId;
  try {
    await deleteSome(progress, provider, TenantResource, { filter });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    // A cordoned or drained Tenant is its administrator's, who has to be able to keep a consumer out.
    return progress.log("warning", `the provider keeps its Tenant: ${messageOf(error)}`);
  }
  await ifFound(waitUntilNone(progress, provider.client, TenantResource, { namespace: provider.namespace, filter }));
  progress.status("provider: Tenant deleted");
  await deleteSecrets(
    progress,
    provider,
    ({ metadata }) =>
      metadata?.labels?.[Labels.nonce] !== undefined ||
      metadata?.name?.startsWith(Names.remoteCertificateSecret) === true,
  );
}

/** What a lost consumer has left on the provider: its copies have no source any more that would delete them. */
async function removeCopies(progress: Progress, provider: Party): Promise<void> {
  await declareUnreachable(progress, provider);
  const labelSelector = { [Labels.originID]: provider.remoteId, [Labels.replicated]: "true" };
  for (const type of [NamespaceMapResource, ResourceSliceResource, RenewResource] as ResourceType[]) {
    await deleteSome(progress, provider, type, { labelSelector });
    await ifFound(waitUntilNone(progress, provider.client, type, { namespace: provider.namespace, labelSelector }));
  }
}

/** Tells the agent that the remote will not come back, so that it waits for nothing there (control plane specification, §15). */
export async function declareUnreachable(
  progress: Progress,
  { client, remoteId, side }: Omit<Party, "namespace">,
): Promise<void> {
  const patch = { metadata: { annotations: { [Annotations.permanentlyUnreachable]: "true" } } };
  await ifFound(client.mergePatch(ForeignClusterResource, { name: remoteId }, patch, { signal: progress.signal }));
  progress.status(`${side}: cluster ${remoteId} marked as permanently unreachable`);
}

async function deleteSome(
  progress: Progress,
  { client, namespace }: Party,
  type: ResourceType,
  {
    labelSelector,
    filter = () => true,
  }: { labelSelector?: Record<string, string>; filter?: (object: KubeObject) => boolean },
): Promise<void> {
  const list = await ifFound(client.list(type, { namespace, labelSelector, signal: progress.signal }));
  const chosen = (list?.items ?? []).filter(filter);
  await Promise.all(
    chosen.map(({ metadata }) =>
      client.delete(type, { name: metadata?.name ?? "", namespace }, { signal: progress.signal }),
    ),
  );
}

/** A peering user sees the nonce only; the certificates go with the Tenant, where the agent is ours. */
async function deleteSecrets(progress: Progress, party: Party, filter: (secret: Secret) => boolean): Promise<void> {
  const { client, namespace } = party;
  try {
    await deleteSome(progress, party, SecretResource, { filter: (object) => filter(object as Secret) });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    await client.delete(SecretResource, { name: Names.nonceSecret, namespace }, { signal: progress.signal });
  }
}
