import { Finalizers, Labels, type Connection, type GatewayClient, type VirtualNode } from "../../api/index.js";
import {
  Controller,
  Informer,
  KubeClient,
  describeObject,
  hasFinalizer,
  isForbidden,
  isUnreachable,
  logChanges,
  type EventRecorder,
  type Logger,
  type ReconcileResult,
} from "../../runtime/index.js";
import { copySelector, type ReplicationRoute } from "./copy.js";
import type { ReplicatedKind, ReplicatedObject } from "./kinds.js";
import { replicateItem, type ReplicationPair } from "./replication-item.js";
import { ServerEndpointFollower } from "./server-endpoint-follower.js";

export interface ReflectorOptions {
  route: ReplicationRoute;
  /** The control plane identity. */
  kubeconfig: string;
  localClient: KubeClient;
  /** Shared informers of this cluster, by kind. */
  local: ReadonlyMap<ReplicatedKind, Informer<ReplicatedObject>>;
  virtualNodes: Informer<VirtualNode>;
  connections: Informer<Connection>;
  gatewayClients: Informer<GatewayClient>;
  events: EventRecorder;
  logger: Logger;
  isPeerDead(): boolean;
  /** Called when the connection to the peer has broken. */
  onConnectionLost(): void;
  /** Called when an item's pass has ended, or the peer's objects have changed. */
  onProgress(): void;
}

const WORKERS = 3;

/**
 * Replicates to one provider. It has its own client, informers, queue and workers, so that a peer that does not answer holds up nobody else.
 */
export class Reflector {
  private readonly remoteClient: KubeClient;
  private readonly pairs: ReplicationPair[];
  private readonly controller: Controller;
  private readonly serverEndpoint: ServerEndpointFollower;

  constructor(private readonly options: ReflectorOptions) {
    const { route, logger } = options;
    this.remoteClient = KubeClient.fromText(options.kubeconfig, { cluster: route.remoteClusterID });
    logChanges(this.remoteClient.transport, logger);
    this.pairs = [...options.local].map(([type, local]) => ({ type, local, remote: this.remoteInformer(type) }));
    this.controller = new Controller({
      name: `replicator-${route.remoteClusterID}`,
      workers: WORKERS,
      logger,
      reconcile: (key) => this.pass(key),
    });
    this.serverEndpoint = new ServerEndpointFollower({ ...options, remoteClient: this.remoteClient });
  }

  get remoteClusterID(): string {
    return this.options.route.remoteClusterID;
  }

  /** Whether the peer's objects of every kind are known. */
  get hasSynced(): boolean {
    return this.pairs.every(({ remote }) => remote.hasSynced);
  }

  start(): void {
    for (const { type, remote } of this.pairs) {
      remote.onEvent(({ object }) => this.enqueue(type, object.metadata.name ?? ""));
      remote.start();
    }
    this.controller.start();
    this.serverEndpoint.start();
    this.enqueueAll();
  }

  async stop(): Promise<void> {
    const informers = this.pairs.map(({ remote }) => remote.stop());
    await Promise.all([this.controller.stop(), this.serverEndpoint.stop(), ...informers]);
    this.remoteClient.close();
  }

  enqueue(type: ReplicatedKind, name: string): void {
    this.controller.enqueue(`${type.plural}/${name}`);
  }

  /** A Connection or GatewayClient in the peering's namespace has changed. */
  noticeLink(): void {
    this.serverEndpoint.lookAgain();
  }

  /** Looks at everything again at once, whatever waits to be retried. */
  enqueueAll(): void {
    for (const { type } of this.pairs) this.enqueueKind(type);
  }

  /** What keeps replication from ending: sources here, or copies there. Empty = nothing. */
  async remainders(): Promise<string[]> {
    const found = await Promise.all(this.pairs.map((pair) => this.remaindersOf(pair)));
    return found.flat();
  }

  private enqueueKind(type: ReplicatedKind): void {
    const { localNamespace, remoteNamespace } = this.options.route;
    const pair = this.pairs.find((candidate) => candidate.type === type);
    for (const { metadata } of pair?.local.inNamespace(localNamespace) ?? []) this.enqueue(type, metadata.name ?? "");
    for (const { metadata } of pair?.remote.inNamespace(remoteNamespace) ?? []) this.enqueue(type, metadata.name ?? "");
  }

  private async pass(key: string): Promise<ReconcileResult | void> {
    const [plural, name = ""] = key.split("/");
    const pair = this.pairs.find(({ type }) => type.plural === plural);
    try {
      if (pair) return await replicateItem({ ...this.options, remoteClient: this.remoteClient }, pair, name);
    } catch (error) {
      // Rights that are gone come back one day: a list that is refused is tried again until it is answered, and brings all items back.
      if (isForbidden(error)) pair?.remote.lookAgain();
      throw error;
    } finally {
      this.options.onProgress();
    }
  }

  private async remaindersOf({ type, local, remote }: ReplicationPair): Promise<string[]> {
    const { localNamespace, remoteNamespace, remoteClusterID } = this.options.route;
    const sources = local.inNamespace(localNamespace).filter((source) => isSourceFor(source, remoteClusterID));
    if (sources.length > 0) return sources.map(({ metadata }) => describe(type, metadata.name, localNamespace));
    if (this.options.isPeerDead()) return [];
    if (remote.hasSynced && remote.inNamespace(remoteNamespace).length === 0) return [];
    // Asked anew: after the rights were withdrawn nothing is told about the copies any more.
    const copies = await this.listCopies(type);
    return copies.map(
      ({ metadata }) => `${describe(type, metadata.name, remoteNamespace)} in cluster ${remoteClusterID}`,
    );
  }

  private async listCopies(type: ReplicatedKind): Promise<ReplicatedObject[]> {
    const { localClusterID, remoteNamespace } = this.options.route;
    try {
      const labelSelector = copySelector(localClusterID);
      return (await this.remoteClient.list(type, { namespace: remoteNamespace, labelSelector })).items;
    } catch (error) {
      if (isForbidden(error)) return [];
      throw error;
    }
  }

  private remoteInformer(type: ReplicatedKind): Informer<ReplicatedObject> {
    const { localClusterID, remoteNamespace } = this.options.route;
    return new Informer(this.remoteClient, type, {
      namespace: remoteNamespace,
      labelSelector: copySelector(localClusterID),
      logger: this.options.logger,
      onListed: () => this.enqueueKind(type),
      onError: (error) => {
        if (isUnreachable(error)) this.options.onConnectionLost();
      },
    });
  }
}

function isSourceFor(source: ReplicatedObject, remoteClusterID: string): boolean {
  const { labels } = source.metadata;
  if (hasFinalizer(source, Finalizers.replicatorResource)) return true;
  return labels?.[Labels.replication] === "true" && labels[Labels.remoteID] === remoteClusterID;
}

function describe(type: ReplicatedKind, name: string | undefined, namespace: string): string {
  return describeObject(type, name ?? "", namespace);
}
