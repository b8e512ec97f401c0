import type { Namespace, Secret } from "kubernetes-types/core/v1";
import {
  Annotations,
  ConnectionResource,
  DataKeys,
  Finalizers,
  ForeignClusterResource,
  GatewayClientResource,
  Labels,
  VirtualNodeResource,
  type Connection,
  type ForeignCluster,
  type GatewayClient,
  type VirtualNode,
} from "../../api/index.js";
import {
  Controller,
  NamespaceResource,
  SecretResource,
  TerminalError,
  addFinalizer,
  findCondition,
  hasFinalizer,
  isDeleting,
  keyOf,
  messageOf,
  removeFinalizer,
  type Informer,
} from "../../runtime/index.js";
import { decodeBase64, isControlPlaneIdentity, remoteClusterOf } from "../authentication/lookups.js";
import type { ControllerContext, Startable } from "../context.js";
import { peerSignals } from "../peer-signals.js";
import { REPLICATED_KINDS, type ReplicatedKind, type ReplicatedObject } from "./kinds.js";
import { Reflector } from "./reflector.js";
import { ownersOf } from "./slice-nodes.js";

/** A reflector, and the Secret as it was when it began. */
interface RunningReflector {
  reflector: Reflector;
  secretKey: string;
  fingerprint: string;
}

const SAY_AGAIN_MS = 10_000;
/** More than peers that could fail at once: a pass may wait for its own peer, and no other pass for that one. */
const WORKERS = 256;

/**
 * Consumer. Watches ControlPlane kubeconfig Secrets and the tenant namespaces that they lie in, ForeignClusters, VirtualNodes, Connections, GatewayClients and the replicated kinds; runs one reflector per provider while such a
 * Secret exists, and holds the Secret by a finalizer until nothing replicated is left (control plane specification, §9).
 */
export class ReplicationManager implements Startable {
  readonly name = "replicator";
  private readonly secrets: Informer<Secret>;
  private readonly tenantNamespaces: Informer<Namespace>;
  private readonly foreignClusters: Informer<ForeignCluster>;
  private readonly virtualNodes: Informer<VirtualNode>;
  private readonly connections: Informer<Connection>;
  private readonly gatewayClients: Informer<GatewayClient>;
  private readonly local: ReadonlyMap<ReplicatedKind, Informer<ReplicatedObject>>;
  private readonly reflectors = new Map<string, RunningReflector>();
  private readonly controller: Controller;

  constructor(private readonly context: ControllerContext) {
    const { informers, logger } = context;
    this.secrets = informers.for(SecretResource, { labelSelector: Labels.identityType });
    this.tenantNamespaces = informers.for(NamespaceResource, { labelSelector: Labels.tenantNamespace });
    this.foreignClusters = informers.for(ForeignClusterResource);
    this.virtualNodes = informers.for(VirtualNodeResource);
    this.connections = informers.for(ConnectionResource);
    this.gatewayClients = informers.for(GatewayClientResource);
    this.local = new Map(REPLICATED_KINDS.map((type) => [type, informers.for(type)]));
    this.controller = new Controller({
      name: this.name,
      workers: WORKERS,
      logger,
      reconcile: (key) => this.reconcile(key),
    })
      .watch(this.secrets, (secret) => [keyOf(secret), ...this.secretsOf(remoteClusterOf(secret)).map(keyOf)])
      .watch(this.tenantNamespaces, ({ metadata }) => this.secrets.inNamespace(metadata?.name ?? "").map(keyOf));
    for (const [type, informer] of this.local) {
      informer.onEvent(({ object }) => this.dispatch(type, object));
    }
    this.virtualNodes.onEvent(({ type, object }) => {
      if (type === "deleted") this.dispatchOwners(object);
    });
    this.connections.onEvent(({ object }) => this.noticeLink(object));
    this.gatewayClients.onEvent(({ object }) => this.noticeLink(object));
    this.foreignClusters.onEvent((event) => {
      if (event.type !== "deleted")
        this.onForeignCluster(event.object, event.type === "updated" ? event.old : undefined);
    });
  }

  start(): void {
    this.controller.start();
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await Promise.all([...this.reflectors.values()].map(({ reflector }) => reflector.stop()));
    this.reflectors.clear();
  }

  private async reconcile(key: string): Promise<{ requeueAfterMs?: number } | void> {
    const secret = this.secrets.get(key);
    const running = [...this.reflectors.values()].find(({ secretKey }) => secretKey === key);
    if (!secret || !isControlPlaneIdentity(this.tenantNamespaces, secret)) {
      if (running) this.end(running);
      // It was one, and its namespace is none of a peer's any more: nothing can be asked of the peer then.
      if (secret && isDeleting(secret) && hasFinalizer(secret, Finalizers.replicatorOperator))
        await removeFinalizer(this.context.client, SecretResource, secret, Finalizers.replicatorOperator);
      return;
    }
    const remoteClusterID = remoteClusterOf(secret);
    const remoteNamespace = secret.metadata?.annotations?.[Annotations.remoteTenantNamespace];
    if (!remoteClusterID || !remoteNamespace) return;
    this.refuseSecond(secret, remoteClusterID);
    if (isDeleting(secret)) return this.finish(secret, remoteClusterID, remoteNamespace);
    await this.hold(secret);
    this.ensureReflector(secret, remoteClusterID, remoteNamespace);
  }

  /** One identity per provider: which of two to use cannot be guessed. */
  private refuseSecond(secret: Secret, remoteClusterID: string): void {
    const key = keyOf(secret);
    const others = this.secretsOf(remoteClusterID)
      .map(keyOf)
      .filter((other) => other !== key);
    const running = this.reflectors.get(remoteClusterID);
    if (others.length === 0 || running?.secretKey === key) return;
    const message = `there are several ControlPlane identities for cluster ${remoteClusterID} (also ${others.join(", ")}): delete all but one`;
    this.events.warning(SecretResource, secret, "SeveralIdentities", message);
    // A deleting one that never replicated holds nothing.
    if (!isDeleting(secret)) throw new TerminalError(message);
  }

  private async hold(secret: Secret): Promise<void> {
    if (hasFinalizer(secret, Finalizers.replicatorOperator)) return;
    const held = await addFinalizer(this.context.client, SecretResource, secret, Finalizers.replicatorOperator);
    this.secrets.observe(held);
  }

  private ensureReflector(secret: Secret, remoteClusterID: string, remoteNamespace: string): Reflector | undefined {
    const kubeconfig = decodeBase64(secret.data?.[DataKeys.kubeconfig]).toString("utf8");
    const secretKey = keyOf(secret);
    const fingerprint = JSON.stringify([secretKey, remoteNamespace, kubeconfig]);
    const running = this.reflectors.get(remoteClusterID);
    if (running?.fingerprint === fingerprint) return running.reflector;
    if (running) this.end(running);
    const reflector = this.makeReflector(secret, kubeconfig, remoteClusterID, remoteNamespace);
    if (!reflector) return undefined;
    this.reflectors.set(remoteClusterID, { reflector, secretKey, fingerprint });
    reflector.start();
    this.context.logger.info({ cluster: remoteClusterID }, "replication started");
    return reflector;
  }

  private makeReflector(
    secret: Secret,
    kubeconfig: string,
    remoteClusterID: string,
    remoteNamespace: string,
  ): Reflector | undefined {
    const { client, config, logger } = this.context;
    const secretKey = keyOf(secret);
    try {
      return new Reflector({
        route: {
          localClusterID: config.clusterId,
          remoteClusterID,
          localNamespace: secret.metadata?.namespace ?? "",
          remoteNamespace,
        },
        kubeconfig,
        localClient: client,
        local: this.local,
        virtualNodes: this.virtualNodes,
        connections: this.connections,
        gatewayClients: this.gatewayClients,
        events: this.events,
        logger: logger.child({ cluster: remoteClusterID }),
        onConnectionLost: () => peerSignals(this.context).reportTrouble(remoteClusterID),
        isPeerDead: () => this.isPeerDead(remoteClusterID),
        onProgress: () => this.onProgress(secretKey),
      });
    } catch {
      // The parser's own message could quote the kubeconfig.
      const message = `Secret ${secretKey}: key "${DataKeys.kubeconfig}" holds no kubeconfig that can be read`;
      this.events.warning(SecretResource, secret, "InvalidKubeconfig", message);
      if (isDeleting(secret)) return undefined;
      throw new TerminalError(message);
    }
  }

  /** Lets a deleting Secret go once nothing replicated is left on either side. */
  private async finish(
    secret: Secret,
    remoteClusterID: string,
    remoteNamespace: string,
  ): Promise<{ requeueAfterMs?: number } | void> {
    const key = keyOf(secret);
    const running = this.reflectors.get(remoteClusterID);
    if (!hasFinalizer(secret, Finalizers.replicatorOperator)) {
      if (running?.secretKey === key) this.end(running);
      return;
    }
    const isOurs = running === undefined || running.secretKey === key;
    const reflector = isOurs ? this.ensureReflector(secret, remoteClusterID, remoteNamespace) : undefined;
    const remainders = await this.remaindersOf(reflector, remoteClusterID, secret);
    if (remainders.length > 0) {
      const message = `replication to cluster ${remoteClusterID} cannot end: still there: ${remainders.join(", ")}`;
      this.events.normal(SecretResource, secret, "WaitingForReplicatedObjects", message);
      return { requeueAfterMs: SAY_AGAIN_MS };
    }
    const present = this.reflectors.get(remoteClusterID);
    if (present?.secretKey === key) this.end(present);
    await removeFinalizer(this.context.client, SecretResource, secret, Finalizers.replicatorOperator);
  }

  private async remaindersOf(
    reflector: Reflector | undefined,
    remoteClusterID: string,
    secret: Secret,
  ): Promise<string[]> {
    try {
      return (await reflector?.remainders()) ?? [];
    } catch (error) {
      const message = `replication to cluster ${remoteClusterID} cannot end: ${messageOf(error)}`;
      this.events.warning(SecretResource, secret, "WaitingForPeer", message);
      throw error;
    }
  }

  private secretsOf(remoteClusterID: string | undefined): Secret[] {
    return this.secrets
      .list()
      .filter(
        (secret) =>
          isControlPlaneIdentity(this.tenantNamespaces, secret) && remoteClusterOf(secret) === remoteClusterID,
      );
  }

  private end({ reflector }: RunningReflector): void {
    const { logger } = this.context;
    this.reflectors.delete(reflector.remoteClusterID);
    // Not waited for: a pass may hang on a peer that does not answer.
    reflector.stop().catch((error: unknown) => logger.debug({ reason: messageOf(error) }, "reflector not ended"));
    logger.info({ cluster: reflector.remoteClusterID }, "replication ended");
    // Another Secret may have waited for its turn.
    for (const secret of this.secretsOf(reflector.remoteClusterID)) this.controller.enqueue(keyOf(secret));
  }

  private dispatch(type: ReplicatedKind, { metadata }: ReplicatedObject): void {
    for (const { reflector, secretKey } of this.reflectors.values()) {
      if (secretKey.startsWith(`${metadata.namespace}/`)) reflector.enqueue(type, metadata.name ?? "");
    }
  }

  private noticeLink({ metadata }: Connection | GatewayClient): void {
    for (const { reflector, secretKey } of this.reflectors.values())
      if (secretKey.startsWith(`${metadata.namespace}/`)) reflector.noticeLink();
  }

  /** A slice may have waited for the virtual node's end. */
  private dispatchOwners(virtualNode: VirtualNode): void {
    const owners = ownersOf(virtualNode);
    for (const [type, informer] of this.local) {
      for (const source of informer.inNamespace(virtualNode.metadata.namespace ?? ""))
        if (owners.includes(source.metadata.uid ?? "")) this.dispatch(type, source);
    }
  }

  private onProgress(secretKey: string): void {
    const secret = this.secrets.get(secretKey);
    if (secret && isDeleting(secret)) this.controller.enqueue(secretKey);
  }

  /** A peer that answers again, or was declared dead, changes what can be done at once. */
  private onForeignCluster(foreignCluster: ForeignCluster, old: ForeignCluster | undefined): void {
    const running = this.reflectors.get(foreignCluster.spec.clusterID);
    if (!running || !old) return;
    const answersAgain = isEstablished(foreignCluster) && isLost(old);
    const declared = isDeclaredDead(foreignCluster) !== isDeclaredDead(old);
    if (!answersAgain && !declared) return;
    // Its connections may be as dead as the peer was, and tell of it only minutes later.
    if (answersAgain) this.end(running);
    else running.reflector.enqueueAll();
    this.controller.enqueue(running.secretKey);
  }

  private isPeerDead(remoteClusterID: string): boolean {
    const foreignCluster = this.foreignClusters.get(remoteClusterID);
    return foreignCluster !== undefined && isDeclaredDead(foreignCluster) && !isEstablished(foreignCluster);
  }

  private get events(): ReturnType<ControllerContext["recorder"]> {
    return this.context.recorder("replicator");
  }
}

function isDeclaredDead({ metadata }: ForeignCluster): boolean {
  return metadata.annotations?.[Annotations.permanentlyUnreachable] === "true";
}

/** Known not to answer; not so before the first look. */
function isLost({ status }: ForeignCluster): boolean {
  return findCondition(status?.conditions, "APIServerStatus")?.status === "Error";
}

function isEstablished({ status }: ForeignCluster): boolean {
  return findCondition(status?.conditions, "APIServerStatus")?.status === "Established";
}
