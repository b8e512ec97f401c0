import {
  Annotations,
  DataKeys,
  IdentityResource,
  Labels,
  NamespaceMapResource,
  Names,
  ResourceSliceResource,
  TenantResource,
  VirtualNodeResource,
  controlPlaneIdentityName,
  kubeconfigSecretName,
  tenantNamespaceName,
  type Quantities,
  type ResourceSlice,
  type Tenant,
} from "../../../agent/api/index.js";
import { controlPlaneSubject, makeCertificateRequest } from "../../../agent/crypto/index.js";
import {
  NamespaceResource,
  SecretResource,
  findCondition,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import { waitFor } from "../../support/wait.js";

/** One side of a peering. */
export interface Peer {
  id: string;
  /** The administrator's. */
  client: KubeClient;
}

const MANAGER = { fieldManager: "test" };
const TIMEOUT_MS = 40_000;
const patience = new WeakMap<KubeClient, number>();

/** Gives each step that this client waits for more time (milliseconds) than controllers need that nobody kills. */
export function bePatient(client: KubeClient, timeoutMs: number): void {
  patience.set(client, timeoutMs);
}

/** Waits until the one object satisfies the predicate. */
export function waitForObject<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  id: { name: string; namespace?: string },
  what: string,
  predicate: (object: T) => unknown,
): Promise<T> {
  const options = {
    namespace: id.namespace,
    fieldSelector: `metadata.name=${id.name}`,
    timeoutMs: patience.get(client) ?? TIMEOUT_MS,
    what: `${type.kind} ${id.name}: ${what}`,
    describe: (objects: T[]) =>
      JSON.stringify(objects.map(({ metadata, ...rest }) => ({ ...rest, name: metadata?.name }))),
  };
  return waitFor(client, type, options, ([object]) => (object && predicate(object) ? object : undefined));
}

export async function waitUntilGone(
  client: KubeClient,
  type: ResourceType,
  id: { name: string; namespace?: string },
): Promise<void> {
  const options = {
    namespace: id.namespace,
    fieldSelector: `metadata.name=${id.name}`,
    timeoutMs: patience.get(client) ?? TIMEOUT_MS,
    what: `the end of ${type.kind} ${id.name}`,
    describe: (objects: KubeObject[]) => JSON.stringify(objects.map(({ metadata }) => metadata?.finalizers)),
  };
  await waitFor(client, type, options, (objects) => objects.length === 0);
}

/** Prepares both tenant namespaces; the outcome of `peer network`, without the network. */
export async function makeTenantNamespaces(consumer: Peer, provider: Peer): Promise<void> {
  await Promise.all([makeTenantNamespace(consumer, provider.id), makeTenantNamespace(provider, consumer.id)]);
}

async function makeTenantNamespace({ client }: Peer, remoteClusterID: string): Promise<void> {
  const labels = { [Labels.remoteClusterID]: remoteClusterID, [Labels.tenantNamespace]: "true" };
  await client.apply(NamespaceResource, { metadata: { name: tenantNamespaceName(remoteClusterID), labels } }, MANAGER);
}

/** Nonce and signature, as tools carry them from one cluster to the other. */
export async function exchangeNonce(consumer: Peer, provider: Peer): Promise<string> {
  const nonceID = { name: Names.nonceSecret, namespace: tenantNamespaceName(consumer.id) };
  const nonceLabels = { [Labels.nonce]: "true", [Labels.remoteClusterID]: consumer.id };
  await provider.client.apply(SecretResource, { metadata: { ...nonceID, labels: nonceLabels } }, MANAGER);
  const nonce = await waitForObject(provider.client, SecretResource, nonceID, "nonce", ({ data }) => data?.nonce);
  const signedID = { name: Names.signedNonceSecret, namespace: tenantNamespaceName(provider.id) };
  const signedLabels = { [Labels.signedNonce]: "true", [Labels.remoteClusterID]: provider.id };
  const data = { [DataKeys.nonce]: nonce.data?.[DataKeys.nonce] ?? "" };
  await consumer.client.apply(SecretResource, { metadata: { ...signedID, labels: signedLabels }, data }, MANAGER);
  const signed = await waitForObject(
    consumer.client,
    SecretResource,
    signedID,
    "signature",
    (secret) => secret.data?.[DataKeys.signedNonce],
  );
  return signed.data?.[DataKeys.signedNonce] ?? "";
}

/** The Tenant that the consumer forges for the provider. */
export async function forgeTenant(consumer: Peer, signature: string): Promise<Tenant> {
  const keys = await consumer.client.get(SecretResource, {
    name: Names.authenticationKeysSecret,
    namespace: Names.namespace,
  });
  const privateKey = Buffer.from(keys?.data?.[DataKeys.privateKey] ?? "", "base64").toString();
  const csr = makeCertificateRequest(controlPlaneSubject(consumer.id), privateKey);
  return TenantResource.build({
    metadata: {
      name: consumer.id,
      namespace: tenantNamespaceName(consumer.id),
      labels: { [Labels.remoteClusterID]: consumer.id },
    },
    spec: {
      clusterID: consumer.id,
      authzPolicy: "KeysExchange",
      tenantCondition: "Active",
      publicKey: keys?.data?.[DataKeys.publicKey],
      csr: Buffer.from(csr).toString("base64"),
      signature,
    },
  });
}

/** The whole handshake: when it ends, the consumer holds an identity. */
export async function authenticate(consumer: Peer, provider: Peer, proxyURL?: string): Promise<void> {
  const tenant = await forgeTenant(consumer, await exchangeNonce(consumer, provider));
  if (proxyURL) tenant.spec.proxyURL = proxyURL;
  await provider.client.apply(TenantResource, tenant, MANAGER);
  const accepted = await waitForObject(
    provider.client,
    TenantResource,
    { name: consumer.id, namespace: tenantNamespaceName(consumer.id) },
    "acceptance",
    ({ status }) => status?.authParams && status.tenantNamespace,
  );
  const name = controlPlaneIdentityName(provider.id);
  const namespace = tenantNamespaceName(provider.id);
  const identity = IdentityResource.build({
    metadata: { name, namespace, labels: { [Labels.remoteClusterID]: provider.id } },
    spec: {
      clusterID: provider.id,
      type: "ControlPlane",
      authParams: accepted.status?.authParams,
      namespace: accepted.status?.tenantNamespace,
    },
  });
  await consumer.client.apply(IdentityResource, identity, MANAGER);
  await waitForObject(
    consumer.client,
    IdentityResource,
    { name, namespace },
    "kubeconfig",
    ({ status, metadata }) => Boolean(status?.kubeconfigSecretRef?.name) && !metadata.deletionTimestamp,
  );
}

export function sliceID(provider: Peer): { name: string; namespace: string } {
  return { name: provider.id, namespace: tenantNamespaceName(provider.id) };
}

export function copyID(consumer: Peer, provider: Peer): { name: string; namespace: string } {
  return { name: provider.id, namespace: tenantNamespaceName(consumer.id) };
}

/** @param options withNode: a virtual node is made for it */
export async function requestSlice(
  consumer: Peer,
  provider: Peer,
  resources: Quantities,
  options: { withNode?: boolean } = {},
): Promise<ResourceSlice> {
  const annotations = options.withNode ? { [Annotations.createVirtualNode]: "true" } : undefined;
  const labels = {
    [Labels.replication]: "true",
    [Labels.remoteID]: provider.id,
    [Labels.remoteClusterID]: provider.id,
  };
  const slice = { metadata: { ...sliceID(provider), labels, annotations }, spec: { class: "default", resources } };
  await consumer.client.apply(ResourceSliceResource, slice, MANAGER);
  return waitForObject(
    consumer.client,
    ResourceSliceResource,
    sliceID(provider),
    "acceptance",
    (object) =>
      isAccepted(object) &&
      Object.entries(resources).every(([key, value]) => object.status?.resources?.[key] === value),
  );
}

/** Peers until the process of a virtual node has been asked for, and the provider has the map of namespaces. */
export async function peerWithNode(consumer: Peer, provider: Peer, resources: Quantities): Promise<void> {
  await authenticate(consumer, provider);
  await requestSlice(consumer, provider, resources, { withNode: true });
  await waitForObject(consumer.client, VirtualNodeResource, sliceID(provider), "its process", ({ status }) =>
    status?.conditions?.some(({ type }) => type === "VirtualKubelet"),
  );
  await waitForObject(provider.client, NamespaceMapResource, copyID(consumer, provider), "a copy", () => true);
}

/** Takes the virtual node away, and then the peering. */
export async function unpeerWithNode(consumer: Peer, provider: Peer): Promise<void> {
  const annotations = { [Annotations.createVirtualNode]: null };
  await consumer.client.mergePatch(ResourceSliceResource, sliceID(provider), { metadata: { annotations } });
  await consumer.client.delete(VirtualNodeResource, sliceID(provider));
  await waitUntilGone(consumer.client, VirtualNodeResource, sliceID(provider));
  await unpeer(consumer, provider);
}

export function isAccepted({ status }: ResourceSlice): boolean {
  return (["Authentication", "Resources"] as const).every(
    (type) => findCondition(status?.conditions, type)?.status === "Accepted",
  );
}

/** Takes one direction apart, in the order of the specification. */
export async function unpeer(consumer: Peer, provider: Peer): Promise<void> {
  await consumer.client.delete(ResourceSliceResource, sliceID(provider));
  await waitUntilGone(consumer.client, ResourceSliceResource, sliceID(provider));
  const name = controlPlaneIdentityName(provider.id);
  const namespace = tenantNamespaceName(provider.id);
  await consumer.client.delete(IdentityResource, { name, namespace });
  await waitUntilGone(consumer.client, SecretResource, { name: kubeconfigSecretName(name), namespace });
  const tenant = { name: consumer.id, namespace: tenantNamespaceName(consumer.id) };
  await provider.client.delete(TenantResource, tenant);
  await waitUntilGone(provider.client, TenantResource, tenant);
}
