import type { Node, Pod, Secret } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  GatewayServerResource,
  GeneveTunnelResource,
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  LabelValues,
  Labels,
  PublicKeyResource,
  cidrContainsAddress,
  gatewayResourceName,
  lentPart,
  peerConfiguration,
  serverEndpointOf,
  type Configuration,
  type Connection,
  type GatewayServer,
  type PublicKey,
  type ServerEndpoint,
} from "../api/index.js";
import {
  Informer,
  NodeResource,
  PodResource,
  SecretResource,
  keyOf,
  podIPv4,
  type KubeClient,
  type KubeObject,
  type Logger,
} from "../runtime/index.js";
import type { GatewayArguments } from "./arguments.js";
import { ignoresPodRanges, podRanges, type GatewayObjects } from "./collect-state.js";

/** The index of pods by the node that carries them. */
const BY_NODE = "node";

/** Pods whose addresses are the CNI's. */
const OF_POD_NETWORK = "spec.hostNetwork=false";
/** So many pods are looked at to judge the nodes' ranges, and for so long. */
const SAMPLE = 50;
const SAMPLE_MS = 5_000;

/** Keeps what a gateway reads, and nothing else: by namespace and label where there is one, trimmed where objects are large. */
export class GatewaySources {
  private readonly keys;
  private readonly configurations;
  private readonly connections;
  private readonly fabrics;
  private readonly tunnels;
  private readonly internalNodes;
  private readonly nodes;
  private readonly ips;
  private readonly keySecrets?: Informer<Secret>;
  private readonly servers?: Informer<GatewayServer>;
  private pods?: Informer<Pod>;
  private ownAddresses: readonly string[] = [];
  /** Found out once: neither the gateway's pod nor its node ever gets other addresses. */
  private ignoresPodRanges?: boolean;

  constructor(
    private readonly client: KubeClient,
    private readonly args: GatewayArguments,
    private readonly logger: Logger,
    /** Called with every event, also those that mean nothing to a gateway: nodes tell every few seconds that they live. */
    private readonly onChange: () => void,
  ) {
    const { namespace, remoteClusterID, name, keySecret } = args;
    const labelSelector = `${Labels.remoteClusterID}=${remoteClusterID}`;
    this.keys = new Informer(client, PublicKeyResource, { namespace, labelSelector, logger });
    // A Configuration may be in any namespace (network specification, §5.2).
    this.configurations = new Informer(client, ConfigurationResource, { labelSelector, logger });
    this.connections = new Informer(client, ConnectionResource, {
      namespace,
      fieldSelector: `metadata.name=${gatewayResourceName(name)}`,
      logger,
    });
    this.fabrics = new Informer(client, InternalFabricResource, {
      namespace,
      fieldSelector: `metadata.name=${remoteClusterID}`,
      logger,
    });
    this.tunnels = new Informer(client, GeneveTunnelResource, {
      namespace,
      labelSelector: `${Labels.internalFabricName}=${remoteClusterID}`,
      logger,
    });
    this.internalNodes = new Informer(client, InternalNodeResource, { logger });
    this.nodes = new Informer(client, NodeResource, {
      labelSelector: `${Labels.type}!=${LabelValues.virtualNodeType}`,
      trim: trimNode,
      logger,
    });
    this.ips = new Informer(client, IPResource, { trim: lentPart, logger });
    if (keySecret) {
      const fieldSelector = `metadata.name=${keySecret}`;
      this.keySecrets = new Informer(client, SecretResource, { namespace, fieldSelector, logger });
    }
    if (args.mode === "server") {
      const fieldSelector = `metadata.name=${name}`;
      this.servers = new Informer(client, GatewayServerResource, { namespace, fieldSelector, logger });
    }
  }

  /** @param ownAddresses those of the gateway's pod, by which the nodes' pod ranges are judged */
  async start(ownAddresses: readonly string[]): Promise<void> {
    this.ownAddresses = ownAddresses;
    const all = this.always;
    for (const informer of all) informer.onEvent(this.onChange).start();
    // The mounted file serves until this one is there.
    this.keySecrets?.onEvent(this.onChange).start();
    // Nothing waits for it: clients are told when it is known.
    this.servers?.onEvent(this.onChange).start();
    await Promise.all(all.map((informer) => informer.waitForSync()));
    this.judgePodRanges();
    await this.sampleOthers();
    this.watchPodsIfNeeded();
    // Else the first pass would take away what a process before this one has routed to them.
    await this.pods?.waitForSync();
  }

  async stop(): Promise<void> {
    const always = this.always.map((informer) => informer.stop());
    await Promise.all([...always, this.keySecrets?.stop(), this.servers?.stop(), this.pods?.stop()]);
  }

  objects(): GatewayObjects {
    this.watchPodsIfNeeded();
    return {
      configuration: this.configuration,
      fabric: this.fabrics.list()[0],
      tunnels: this.tunnels.list(),
      internalNodes: this.internalNodes.list(),
      nodes: this.nodes.list(),
      ips: this.ips.list(),
      ignoresPodRanges: this.ignoresPodRanges,
      podAddresses: (nodeName) => this.podAddresses(nodeName),
    };
  }

  /** The peer's newest key. */
  get publicKey(): PublicKey | undefined {
    return this.keys
      .list()
      .filter(({ metadata, spec }) => !metadata.deletionTimestamp && spec.publicKey)
      .sort((a, b) => (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? ""))[0];
  }

  /** The gateway's own keys. */
  get keySecret(): Secret | undefined {
    return this.keySecrets?.list()[0];
  }

  /** Servers: where clients reach this gateway. */
  get ownEndpoint(): ServerEndpoint | undefined {
    return serverEndpointOf(this.servers?.list()[0]?.status?.endpoint);
  }

  get connection(): Connection | undefined {
    return this.connections.list()[0];
  }

  observeConnection(connection: Connection): void {
    this.connections.observe(connection);
  }

  private get configuration(): Configuration | undefined {
    const { remoteClusterID, namespace } = this.args;
    return peerConfiguration(this.configurations.list(), remoteClusterID, namespace);
  }

  /** What is watched in every cluster, and waited for. */
  private get always(): Informer<KubeObject>[] {
    const { keys, configurations, connections, fabrics, tunnels, internalNodes, nodes, ips } = this;
    const all = [keys, configurations, connections, fabrics, tunnels, internalNodes, nodes, ips];
    return all.map((informer) => informer as unknown as Informer<KubeObject>);
  }

  /** Pods are many: they are watched only where nodes have no range, or one that the CNI ignores. There is a route for each of them then. */
  private watchPodsIfNeeded(): void {
    this.judgePodRanges();
    if (this.pods || (!this.ignoresPodRanges && this.nodes.list().every(podRanges))) return;
    const options = { fieldSelector: OF_POD_NETWORK, trim: trimPod, logger: this.logger };
    const pods = new Informer(this.client, PodResource, options).addIndex(BY_NODE, carryingNode);
    this.pods = pods.onEvent(this.onChange).start();
  }

  private judgePodRanges(): void {
    if (this.ignoresPodRanges !== undefined) return;
    const { ownAddresses } = this;
    const { nodeName } = this.args;
    this.ignoresPodRanges = ignoresPodRanges(this.nodes.get(nodeName), ownAddresses);
    if (this.ignoresPodRanges) this.tellOfPods({ nodeName, ownAddresses });
  }

  /** The own pod may be in its node's range by chance, where a CNI gives out the same ranges in another order: some others tell. */
  private async sampleOthers(): Promise<void> {
    if (this.ignoresPodRanges !== false) return;
    const options = { fieldSelector: OF_POD_NETWORK, signal: AbortSignal.timeout(SAMPLE_MS) };
    try {
      const { value: sample } = await this.client.pages(PodResource, SAMPLE, options).next();
      const beside = sample?.items.find((pod) => this.isBesideRange(pod));
      if (!beside) return;
      this.ignoresPodRanges = true;
      this.tellOfPods({ pod: keyOf(beside), address: beside.status?.podIP });
    } catch (error) {
      this.logger.warn({ err: error }, "other pods cannot be looked at: their nodes' ranges are taken to hold");
    }
  }

  private isBesideRange(pod: Pod): boolean {
    const [nodeName] = carryingNode(pod);
    const ranges = podRanges(this.nodes.get(nodeName ?? ""));
    const address = podIPv4(pod.status);
    return !!ranges && address !== undefined && !ranges.some((range) => cidrContainsAddress(range, address));
  }

  private tellOfPods(shownBy: object): void {
    this.logger.info(shownBy, "pods are beside their nodes' ranges: a route for each");
  }

  private podAddresses(nodeName: string): string[] {
    const pods = this.pods?.byIndex(BY_NODE, nodeName) ?? [];
    return pods.flatMap(({ status }) => status?.podIP ?? []).sort();
  }
}

/** The node through which a pod is reached; none for one that has ended, whose address may be another's, and for one that is offloaded. */
function carryingNode({ spec, status, metadata }: Pod): string[] {
  const isEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  const isOffloaded = metadata?.labels?.[Labels.shadowPod] === "true";
  return spec?.nodeName && status?.podIP && !isEnded && !isOffloaded ? [spec.nodeName] : [];
}

function trimNode({ apiVersion, kind, metadata, spec }: Node): Node {
  const { name, uid, resourceVersion } = metadata ?? {};
  const { podCIDR, podCIDRs } = spec ?? {};
  return { apiVersion, kind, metadata: { name, uid, resourceVersion }, spec: { podCIDR, podCIDRs } };
}

function trimPod({ metadata, spec, status }: Pod): Pod {
  const { name, namespace, uid, resourceVersion, labels } = metadata ?? {};
  const shadow = labels?.[Labels.shadowPod];
  return {
    metadata: { name, namespace, uid, resourceVersion, ...(shadow ? { labels: { [Labels.shadowPod]: shadow } } : {}) },
    spec: { nodeName: spec?.nodeName, containers: [] },
    status: { podIP: podIPv4(status), phase: status?.phase },
  };
}
