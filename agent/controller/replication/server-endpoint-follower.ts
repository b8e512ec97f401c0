import {
  ConnectionResource,
  GatewayServerResource,
  Labels,
  endpointAnnouncement,
  serverEndpointOf,
  type Connection,
  type GatewayClient,
  type GatewayServer,
} from "../../api/index.js";
import {
  Backoff,
  Controller,
  Informer,
  isDeleting,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Logger,
} from "../../runtime/index.js";
import { remoteClusterOf } from "../authentication/lookups.js";
import type { ReplicationRoute } from "./copy.js";

export interface ServerEndpointFollowerOptions {
  route: ReplicationRoute;
  localClient: KubeClient;
  remoteClient: KubeClient;
  /** Shared informers of this cluster. */
  connections: Informer<Connection>;
  gatewayClients: Informer<GatewayClient>;
  logger: Logger;
}

/**
 * A provider that runs Liqo, or an older agent, does not let its consumers see its gateway servers: it is asked again in case it is upgraded. At first soon, as a new
 * peering's rights may follow its identity by a moment.
 */
const [ASK_SOON_MS, ASK_AGAIN_MS] = [1_000, 10 * 60_000];

/** The one thing that is kept. */
const KEY = "server-endpoint";

/**
 * Where the provider has the gateway server, and this cluster its client: tells the client, by an annotation of its Connection, where the server is reached
 * now. A load balancer that got another address, or nodes that were replaced, would else be lost to it, and with them the tunnel.
 */
export class ServerEndpointFollower {
  private readonly controller: Controller;
  private servers?: Informer<GatewayServer>;
  private askAgain?: NodeJS.Timeout;
  private readonly backoff = new Backoff(ASK_SOON_MS, ASK_AGAIN_MS);
  private isStopped = false;

  constructor(private readonly options: ServerEndpointFollowerOptions) {
    this.controller = new Controller({
      name: `server-endpoint-${options.route.remoteClusterID}`,
      workers: 1,
      logger: options.logger,
      reconcile: () => this.reconcile(),
    });
  }

  start(): void {
    this.controller.start();
    this.lookAgain();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.askAgain);
    await Promise.all([this.controller.stop(), this.servers?.stop()]);
  }

  /** A Connection or GatewayClient of this peering has changed. */
  lookAgain(): void {
    this.controller.enqueue(KEY);
  }

  private async reconcile(): Promise<void> {
    const connection = this.clientConnection();
    const given = serverEndpointOf(this.gatewayClient()?.spec.endpoint);
    if (!connection || !given) return;
    this.watchServers();
    const endpoint = serverEndpointOf(this.server()?.status?.endpoint);
    // A server that has no address for a moment, or that is made anew, has not said where else it is.
    if (!endpoint) return;
    const { name = "", namespace, uid, annotations: present } = connection.metadata;
    const annotations = endpointAnnouncement(present, given, endpoint);
    if (!annotations) return;
    const { connections, localClient, logger } = this.options;
    const patch = { metadata: { uid, annotations } };
    connections.observe(await localClient.mergePatch(ConnectionResource, { name, namespace }, patch));
    logger.info({ ...endpoint }, "told the gateway client where its server is");
  }

  private gatewayClient(): GatewayClient | undefined {
    return this.ofPeering(this.options.gatewayClients)[0];
  }

  private clientConnection(): Connection | undefined {
    return this.ofPeering(this.options.connections).find(
      (connection) => connection.spec.type === "Client" && !isDeleting(connection),
    );
  }

  private ofPeering<T extends KubeObject>(informer: Informer<T>): T[] {
    const { localNamespace, remoteClusterID } = this.options.route;
    return informer.inNamespace(localNamespace).filter((object) => remoteClusterOf(object) === remoteClusterID);
  }

  private server(): GatewayServer | undefined {
    return this.servers?.list().find((server) => !isDeleting(server));
  }

  /** Only where there is a client here: elsewhere the provider need not be asked. */
  private watchServers(): void {
    if (this.servers || this.askAgain || this.isStopped) return;
    const { remoteClient, route } = this.options;
    this.servers = new Informer(remoteClient, GatewayServerResource, {
      namespace: route.remoteNamespace,
      labelSelector: `${Labels.remoteClusterID}=${route.localClusterID}`,
      onError: (error) => {
        if (isForbidden(error)) this.askLater();
      },
    });
    this.servers
      .onEvent(() => this.lookAgain())
      .onSync(() => this.backoff.reset())
      .start();
  }

  private askLater(): void {
    const { servers } = this;
    if (!servers || this.isStopped) return;
    this.servers = undefined;
    void servers.stop();
    const wait = this.backoff.next();
    const seconds = Math.ceil(wait / 1_000);
    this.options.logger.info(
      { seconds },
      "the provider does not tell where its gateway server is reached: asked again",
    );
    this.askAgain = setTimeout(() => {
      this.askAgain = undefined;
      this.lookAgain();
    }, wait).unref();
  }
}
