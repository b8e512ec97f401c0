import type { Node, Pod, Secret } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  GeneveTunnelResource,
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  LabelValues,
  Labels,
  PublicKeyResource,
  gatewayResourceName,
  lentPart,
  peerConfiguration,
  type Configuration,
  type Connection,
  type PublicKey,
} from "../api/index.js";
import {
  Informer,
  NodeResource,
  PodResource,
  SecretResource,
  type KubeClient,
  type KubeObject,
  type Logger,
} from "../runtime/index.js";
import type { GatewayArguments } from "./arguments.js";
import { podRanges, type GatewayObjects } from "./collect-state.js";

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
  private pods?: Informer<Pod>;

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
  }

  async start(): Promise<void> {
    const all: Informer<KubeObject>[] = [
      this.keys,
      this.configurations,
      this.connections,
      this.fabrics,
      this.tunnels,
      this.internalNodes,
      this.nodes,
      this.ips,
    ].map((informer) => informer as unknown as Informer<KubeObject>);
    for (const informer of all) informer.onEvent(this.onChange).start();
    // The mounted file serves until this one is there.
    this.keySecrets?.onEvent(this.onChange).start();
    await Promise.all(all.map((informer) => informer.waitForSync()));
  }

  objects(): GatewayObjects {
    const nodes = this.nodes.list();
    if (!this.pods && nodes.some((node) => !podRanges(node))) this.watchPods();
    return {
      configuration: this.configuration,
      fabric: this.fabrics.list()[0],
      tunnels: this.tunnels.list(),
      internalNodes: this.internalNodes.list(),
      nodes,
      ips: this.ips.list(),
      podAddresses: (nodeName) => (this.pods?.list() ?? []).flatMap((pod) => podAddress(pod, nodeName)).sort(),
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

  /** Only where nodes have no range: one route for each pod then. */
  private watchPods(): void {
    const options = { fieldSelector: "spec.hostNetwork=false", trim: trimPod, logger: this.logger };
    this.pods = new Informer(this.client, PodResource, options).onEvent(this.onChange).start();
  }
}

function podAddress({ spec, status, metadata }: Pod, nodeName: string): string[] {
  const isEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  const isOffloaded = metadata?.labels?.[Labels.shadowPod] === "true";
  return status?.podIP && spec?.nodeName === nodeName && !isEnded && !isOffloaded ? [status.podIP] : [];
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
    status: { podIP: status?.podIP, phase: status?.phase },
  };
}
