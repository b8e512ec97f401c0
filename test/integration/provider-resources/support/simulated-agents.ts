import { setMaxListeners } from "node:events";
import { isDeepStrictEqual } from "node:util";
import {
  asksForVirtualNode,
  sliceKubeconfigSecretName,
  ConfigurationResource,
  ConnectionResource,
  DataKeys,
  Finalizers,
  gatewayResourceName,
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  kubeconfigSecretName,
  Labels,
  Names,
  NamespaceOffloadingResource,
  NetworkResource,
  PublicKeyResource,
  ResourceSliceResource,
  TenantResource,
  tenantNamespaceName,
  VirtualNodeResource,
  type GatewayClient,
  type GatewayServer,
  type ResourceSlice,
} from "../../../../agent/api/index.js";
import { acceptedCondition } from "../../../../agent/controller/network/gateways/refusal.js";
import { newKeyPair } from "../../../../agent/controller/network/gateways/key-secret.js";
import { makeKeyPair } from "../../../../agent/crypto/index.js";
import { resourceTypeOf } from "../../../../agent/install/kinds.js";
import { agentManifests } from "../../../../agent/install/index.js";
import {
  delay,
  DeploymentResource,
  hasFinalizer,
  isConflict,
  isDeleting,
  isNotFound,
  isRefused,
  isUnreachable,
  NamespaceResource,
  NodeResource,
  removeFinalizer,
  SecretResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../../agent/runtime/index.js";
import { installInputs } from "../../../../provider/resources/agent/install-inputs.js";
import { agentInputs } from "../../../../provider/resources/agent/schema.js";
import { snapshots } from "../../../../provider/waits/snapshots.js";

const MANAGER = { fieldManager: "simulated-agent" };
/** What a Secret is held by that an agent replicates with. */
const HELD = Finalizers.replicatorOperator;
/** One that is away refuses at once. */
const ASK_AGAIN_MS = 200;
/** What an agent needs to be seen and used; its workloads and webhooks would not run here. */
const APPLIED = ["Namespace", "ConfigMap", "ClusterRole", "Role", "Network", "Deployment"];

export interface SimulatedCluster {
  id: string;
  client: KubeClient;
  podCIDR: string;
  /** Where its agent is installed. Default: liqo. */
  agentNamespace?: string;
}

export interface SimulationOptions {
  /** Whether gateways come up. Default true. */
  gatewaysRun?: boolean;
}

export interface SimulatedAgents {
  /** Whether they have answered all that there is by now, and have written their last word on it. */
  areAtRest(): Promise<boolean>;
  stop(): Promise<void>;
}

type Handler<T extends KubeObject> = (object: T) => Promise<unknown>;

/**
 * Plays the agents of two clusters of which only the API servers run: their objects are there, and whatever a provider asks of an agent is granted
 * at once in the statuses. No packet flows and no pod runs.
 */
export async function simulateAgents(
  one: SimulatedCluster,
  other: SimulatedCluster,
  { gatewaysRun = true }: SimulationOptions = {},
): Promise<SimulatedAgents> {
  const ended = new AbortController();
  setMaxListeners(0, ended.signal);
  await Promise.all([one, other].map((cluster) => untilAnswered(() => prepare(cluster), ended.signal)));
  const followed = [...play(one, other, gatewaysRun, ended.signal), ...play(other, one, gatewaysRun, ended.signal)];
  const work = followed.map((follower) => follower.run(ended.signal));
  return {
    async areAtRest() {
      const counts = (): number[] => followed.map(({ begun }) => begun);
      const before = counts();
      const upToDate = await Promise.all(followed.map((follower) => follower.isUpToDate()));
      // What has been written since may be in none of the lists.
      return upToDate.every(Boolean) && isDeepStrictEqual(counts(), before);
    },
    async stop() {
      ended.abort();
      await Promise.allSettled(work);
    },
  };
}

async function prepare({ id, client, podCIDR, agentNamespace = Names.namespace }: SimulatedCluster): Promise<void> {
  const inputs = installInputs(agentInputs.parse({ clusterId: id, namespace: agentNamespace }), {
    podCIDRs: [podCIDR],
    serviceCIDR: "10.96.0.0/12",
    apiServerAddress: "",
  });
  const manifests = agentManifests(inputs).filter(
    ({ kind = "" }) => APPLIED.includes(kind) || kind.endsWith("Template"),
  );
  for (const manifest of manifests) await client.apply(resourceTypeOf(manifest), manifest, MANAGER);
  const { items } = await client.list(NetworkResource);
  for (const { metadata, spec } of items) {
    await setStatus(client, NetworkResource, metadata, { cidr: spec.cidr });
  }
  const keys = await makeKeyPair();
  const data = {
    [DataKeys.privateKey]: base64(keys.privateKey),
    [DataKeys.publicKey]: Buffer.from(keys.publicKey.replace(/-----.*-----|\s/g, ""), "base64").toString("base64"),
  };
  const metadata = { name: Names.authenticationKeysSecret, namespace: agentNamespace };
  await client.apply(SecretResource, { metadata, data }, MANAGER);
}

/** Every behaviour of one cluster's agent. */
function play(own: SimulatedCluster, peer: SimulatedCluster, gatewaysRun: boolean, signal: AbortSignal): Followed[] {
  const { client } = own;
  const on = <T extends KubeObject>(type: ResourceType<T>, changed: Handler<T>, removed: Handler<T> = nothing) =>
    new Follower(client, type, { changed, removed });
  return [
    on(SecretResource, ({ metadata, data }) => signNonce(client, metadata, data)),
    new Follower(client, SecretResource, {
      changed: async (secret) => {
        const { name = "", namespace, finalizers = [] } = secret.metadata ?? {};
        if (!isControlPlaneIdentity(secret) || finalizers.includes(HELD)) return;
        const held = { metadata: { finalizers: [...finalizers, HELD] } };
        await client.mergePatch(SecretResource, { name, namespace }, held, MANAGER);
      },
      deleting: async (secret) => {
        if (hasFinalizer(secret, HELD)) await removeFinalizer(client, SecretResource, secret, HELD);
      },
      removed: nothing,
    }),
    on(TenantResource, async ({ metadata, spec, status: present }) => {
      if (spec.authzPolicy === "TolerateNoHandshake") {
        if (!present?.tenantNamespace)
          await setStatus(client, TenantResource, metadata, { tenantNamespace: metadata.namespace });
        return;
      }
      const proxyURL = spec.proxyURL;
      if (present?.authParams && (present.authParams.proxyURL ?? "") === (proxyURL ?? "")) return;
      const authParams = {
        apiServer: "https://provider:6443",
        signedCRT: base64("crt"),
        proxyURL: proxyURL ?? null,
      };
      await setStatus(client, TenantResource, metadata, { tenantNamespace: metadata.namespace, authParams });
    }),
    on(
      IdentityResource,
      async ({ metadata, status: present }) => {
        if (present?.kubeconfigSecretRef) return;
        const name = await makeKubeconfig(client, metadata, peer.id);
        await setStatus(client, IdentityResource, metadata, { kubeconfigSecretRef: { name } });
      },
      ({ metadata: { name = "", namespace } }) =>
        client.delete(SecretResource, { name: kubeconfigSecretName(name), namespace }),
    ),
    on(ConfigurationResource, async ({ metadata, spec }) => {
      await setStatus(client, ConfigurationResource, metadata, { remote: { cidr: spec.remote?.cidr } });
    }),
    on(
      GatewayServerResource,
      async (gateway) => {
        await runGateway(client, gateway, gatewaysRun);
        const { port, nodePort } = gateway.spec.endpoint ?? {};
        const endpoint = { addresses: ["192.0.2.10"], port: nodePort ?? port, protocol: "UDP" };
        await setStatus(client, GatewayServerResource, gateway.metadata, {
          endpoint,
          ...(await keysOf(client, gateway)),
          conditions: acceptedBy(gateway),
        });
      },
      collect(client),
    ),
    on(
      GatewayClientResource,
      async (gateway) => {
        await runGateway(client, gateway, gatewaysRun);
        const keys = await keysOf(client, gateway);
        const status = { ...keys, conditions: acceptedBy(gateway) };
        await setStatus(client, GatewayClientResource, gateway.metadata, status);
      },
      collect(client),
    ),
    on(PublicKeyResource, async ({ metadata }) => {
      const labels = { [Labels.remoteClusterID]: peer.id };
      const id = { name: metadata.name, namespace: metadata.namespace };
      const gatewayRef = { apiVersion: "networking.liqo.io/v1beta1", kind: "GatewayServer", name: metadata.name ?? "" };
      const { ownerReferences } = metadata;
      const connection = {
        metadata: { ...id, labels, ownerReferences },
        spec: { type: "Server" as const, gatewayRef },
      };
      await client.apply(ConnectionResource, connection, MANAGER);
      await setStatus(client, ConnectionResource, id, { value: "Connected" });
    }),
    on(
      ResourceSliceResource,
      (slice) => grantSlice(own, peer, slice),
      async (slice) => {
        if (isCopy(slice)) return;
        const copy = { name: slice.metadata.name ?? "", namespace: tenantNamespaceName(own.id) };
        await peer.client.delete(ResourceSliceResource, copy);
      },
    ),
    // Slices that were there before the peer had a place for them.
    new Follower(peer.client, NamespaceResource, {
      changed: async ({ metadata }) => {
        if (metadata?.name !== tenantNamespaceName(own.id)) return;
        const { items } = await client.list(ResourceSliceResource);
        for (const slice of items) await unlessOvertaken(() => grantSlice(own, peer, slice), signal);
      },
      removed: nothing,
    }),
    on(
      VirtualNodeResource,
      async ({ metadata, spec }) => {
        if (spec.createNode === false) return;
        const allocatable = spec.resourceQuota?.hard as Record<string, string> | undefined;
        const node = { metadata: { name: metadata.name, labels: { [Labels.type]: "virtual-node" } } };
        await client.apply(NodeResource, node, MANAGER);
        const conditions = [{ type: "Ready", status: "True" }];
        await setStatus(client, NodeResource, { name: metadata.name }, { allocatable, conditions });
      },
      ({ metadata }) => client.delete(NodeResource, { name: metadata.name ?? "" }),
    ),
    on(NamespaceOffloadingResource, async ({ metadata, spec }) => {
      const ready = [{ type: "Ready", status: "True", lastTransitionTime: new Date(0).toISOString() }];
      await setStatus(client, NamespaceOffloadingResource, metadata, {
        observedGeneration: metadata.generation,
        offloadingPhase: "Ready",
        remoteNamespaceName: spec.remoteNamespaceName ?? `${metadata.namespace}-${own.id}`,
        remoteNamespacesConditions: { [peer.id]: ready },
      });
    }),
  ];
}

/**
 * What a gateway owned: nobody else collects it here. Its public key last, which is what a NetworkLink waits for before it makes another gateway; that one's
 * are not to be touched.
 */
const collect =
  (client: KubeClient) =>
  async ({ metadata: { namespace, uid } = {} }: KubeObject): Promise<void> => {
    for (const type of [ConnectionResource, PublicKeyResource] as ResourceType[]) {
      const { items } = await client.list(type, { namespace });
      const owned = items.filter(({ metadata }) => metadata?.ownerReferences?.some((owner) => owner.uid === uid));
      await Promise.all(owned.map(({ metadata }) => client.delete(type, { name: metadata?.name ?? "", namespace })));
    }
  };

const nothing = (): Promise<void> => Promise.resolve();

function isControlPlaneIdentity({ metadata }: KubeObject): boolean {
  return metadata?.labels?.[Labels.identityType] === "ControlPlane";
}

function isCopy({ metadata }: ResourceSlice): boolean {
  return metadata.labels?.[Labels.replicated] === "true";
}

/** Handles each object that there is, comes, changes or goes, until the signal. */
export function follow<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  handlers: Handlers<T>,
  signal: AbortSignal,
): Promise<void> {
  return new Follower(client, type, handlers).run(signal);
}

interface Handlers<T extends KubeObject> {
  changed: Handler<T>;
  /** Default: objects that are being deleted are waited for only. */
  deleting?: Handler<T>;
  removed: Handler<T>;
}

/** A kind of objects that is followed. */
interface Followed {
  /** How many states have been looked at, with the one that is being handled. */
  readonly begun: number;
  run(signal: AbortSignal): Promise<void>;
  /** Whether all that the cluster has of the kind was handled. */
  isUpToDate(): Promise<boolean>;
}

class Follower<T extends KubeObject> implements Followed {
  begun = 0;
  private ended = 0;
  private readonly seen = new Map<string, T>();

  constructor(
    private readonly client: KubeClient,
    private readonly type: ResourceType<T>,
    private readonly handlers: Handlers<T>,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    for await (const objects of snapshots(this.client, this.type, {}, signal)) {
      this.begun += 1;
      await this.handle(objects, signal);
      this.ended += 1;
    }
  }

  async isUpToDate(): Promise<boolean> {
    const { items } = await this.client.list(this.type);
    const present = new Set(items.map(({ metadata }) => metadata?.uid ?? ""));
    const isHandled = [...this.seen.keys()].every((uid) => present.has(uid)) && items.every((one) => this.isSeen(one));
    return isHandled && this.begun === this.ended;
  }

  private async handle(objects: T[], signal: AbortSignal): Promise<void> {
    const present = new Map(objects.map((object) => [object.metadata?.uid ?? "", object]));
    for (const [uid, object] of this.seen) {
      if (present.has(uid)) continue;
      this.seen.delete(uid);
      await unlessOvertaken(() => this.handlers.removed(object), signal);
    }
    for (const [uid, object] of present) {
      if (this.isSeen(object)) continue;
      this.seen.set(uid, object);
      const { changed, deleting = nothing } = this.handlers;
      await unlessOvertaken(() => (isDeleting(object) ? deleting : changed)(object), signal);
    }
  }

  private isSeen(object: T): boolean {
    const { uid = "", resourceVersion } = object.metadata ?? {};
    if (isDeleting(object) && !this.handlers.deleting) return true;
    return this.seen.get(uid)?.metadata?.resourceVersion === resourceVersion;
  }
}

/** What was deleted or changed meanwhile, the next snapshot tells. */
async function unlessOvertaken(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await untilAnswered(work, signal);
  } catch (error) {
    const isOvertaken = isNotFound(error) || isConflict(error) || isRefused(error);
    if (!isOvertaken && !signal.aborted) throw error;
  }
}

/** A server that is too busy to answer, or away, is asked again. */
export async function untilAnswered(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      await delay(ASK_AGAIN_MS, signal);
    }
  }
}

async function signNonce(client: KubeClient, metadata: KubeObject["metadata"], data: Record<string, string> = {}) {
  const { labels = {}, name = "", namespace } = metadata ?? {};
  const id = { name, namespace };
  if (labels[Labels.nonce] && !data[DataKeys.nonce]) {
    await client.mergePatch(SecretResource, id, { data: { [DataKeys.nonce]: base64(base64("nonce")) } }, MANAGER);
  }
  if (labels[Labels.signedNonce] && data[DataKeys.nonce] && !data[DataKeys.signedNonce]) {
    await client.mergePatch(SecretResource, id, { data: { [DataKeys.signedNonce]: base64("signed") } }, MANAGER);
  }
}

/** The Secret that the gateway names, else one of its own, and its public key for who may not read Secrets. */
async function keysOf(client: KubeClient, { metadata, spec }: GatewayServer | GatewayClient) {
  const name = spec.secretRef?.name || gatewayResourceName(metadata.name ?? "");
  const secretRef = { name, namespace: metadata.namespace };
  const publicKey = (await client.get(SecretResource, secretRef))?.data?.[DataKeys.publicKey];
  return { secretRef, ...(publicKey ? { publicKey } : {}) };
}

/** What an agent makes of an identity: a kubeconfig with a key of its own. Resolves to the Secret's name. */
async function makeKubeconfig(
  client: KubeClient,
  { name: identity = "", namespace }: NonNullable<KubeObject["metadata"]>,
  remoteId: string,
): Promise<string> {
  const name = kubeconfigSecretName(identity);
  const labels = { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: remoteId };
  const { privateKey } = await makeKeyPair();
  const kubeconfig = `apiVersion: v1\nkind: Config\nusers:\n- name: user\n  user:\n    client-key-data: ${base64(privateKey)}\n`;
  const data = { [DataKeys.kubeconfig]: base64(kubeconfig) };
  await client.apply(SecretResource, { metadata: { name, namespace, labels }, data }, MANAGER);
  return name;
}

/** Which spec of a gateway the status answers to. */
function acceptedBy({ metadata, status }: GatewayServer | GatewayClient): ReturnType<typeof acceptedCondition> {
  return acceptedCondition(status?.conditions, metadata.generation, undefined);
}

/** A Deployment that counts as running, and a key Secret. */
async function runGateway(client: KubeClient, gateway: KubeObject, isRunning: boolean): Promise<void> {
  const id = { name: gatewayResourceName(gateway.metadata?.name ?? ""), namespace: gateway.metadata?.namespace };
  if (!(await client.get(SecretResource, id))) {
    await client.apply(SecretResource, { metadata: id, data: { ...newKeyPair() } }, MANAGER);
  }
  const labels = { gateway: id.name };
  const deployment = {
    metadata: id,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "gateway", image: "none" }] } },
    },
  };
  const { metadata } = await client.apply(DeploymentResource, deployment, MANAGER);
  if (!isRunning) return;
  await setStatus(client, DeploymentResource, metadata, {
    observedGeneration: metadata?.generation,
    replicas: 1,
    readyReplicas: 1,
    updatedReplicas: 1,
    availableReplicas: 1,
  });
}

async function grantSlice(own: SimulatedCluster, peer: SimulatedCluster, slice: ResourceSlice): Promise<void> {
  const { metadata, spec } = slice;
  if (isCopy(slice)) return;
  const granted = { cpu: "4", ...spec.resources };
  const condition = (type: string) => ({
    type,
    status: "Accepted",
    lastTransitionTime: new Date(0).toISOString(),
    reason: "Accepted",
    message: "granted",
  });
  const copy = {
    metadata: {
      name: metadata.name,
      namespace: tenantNamespaceName(own.id),
      labels: { [Labels.replicated]: "true", [Labels.originID]: own.id, [Labels.remoteClusterID]: own.id },
    },
    spec,
  };
  await peer.client.apply(ResourceSliceResource, copy, MANAGER);
  if (asksForVirtualNode(metadata.annotations)) {
    const ofPeer = { [Labels.remoteClusterID]: peer.id };
    const labels = { ...ofPeer, [Labels.resourceSliceName]: metadata.name ?? "" };
    const node = { name: metadata.name, namespace: metadata.namespace, labels };
    const spec = {
      clusterID: peer.id,
      createNode: true,
      disableNetworkCheck: false,
      kubeconfigSecretRef: { name: sliceKubeconfigSecretName(metadata.name ?? "") },
      labels: ofPeer,
      resourceQuota: { hard: granted },
    };
    await own.client.apply(VirtualNodeResource, { metadata: node, spec }, MANAGER);
  }
  await takeBackUnasked(own, peer, slice);
  const conditions = [condition("Authentication"), condition("Resources")];
  await setStatus(own.client, ResourceSliceResource, metadata, { conditions, resources: granted });
}

/** Of a slice that went, or gave its node up, while it was being granted: nobody else collects here what was made too late. */
async function takeBackUnasked(
  own: SimulatedCluster,
  peer: SimulatedCluster,
  { metadata: { name = "", namespace, annotations } }: ResourceSlice,
): Promise<void> {
  const now = await own.client.get(ResourceSliceResource, { name, namespace });
  if (!now) await peer.client.delete(ResourceSliceResource, { name, namespace: tenantNamespaceName(own.id) });
  if (asksForVirtualNode(annotations) && !asksForVirtualNode(now?.metadata.annotations))
    await own.client.delete(VirtualNodeResource, { name, namespace });
}

/** Writes into the status of an object. */
export async function setStatus(
  client: KubeClient,
  type: ResourceType,
  metadata: { name?: string; namespace?: string } | undefined,
  value: object,
): Promise<void> {
  const id = { name: metadata?.name ?? "", namespace: metadata?.namespace };
  await client.mergePatch(type, id, { status: value }, { ...MANAGER, subresource: "status" });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
