import {
  Annotations,
  ConfigurationResource,
  ForeignClusterResource,
  IPResource,
  IPType,
  Labels,
  NamespaceOffloadingResource,
  Names,
  VirtualNodeResource,
  mapRemoteAddress,
  peerConfiguration,
  tenantNamespaceName,
  type Configuration,
  type ForeignCluster,
  type IP,
  type NamespaceOffloading,
  type OffloadingPatch,
  type VirtualNode,
} from "../../api/index.js";
import { Informer, aborted, type KubeClient, type Logger } from "../../runtime/index.js";
import type { VirtualNodeConfig } from "../arguments.js";

/** What the consumer's cluster says about this virtual node and its provider, always current. */
export class LiveState {
  readonly virtualNodes: Informer<VirtualNode>;
  readonly foreignClusters: Informer<ForeignCluster>;
  readonly configurations: Informer<Configuration>;
  readonly apiServerIPs: Informer<IP>;
  /** Metadata alone. */
  private readonly offloadings: Informer<NamespaceOffloading>;

  constructor(
    local: KubeClient,
    readonly config: VirtualNodeConfig,
    logger: Logger,
  ) {
    const { tenantNamespace: namespace, foreignClusterId, virtualNodeName, liqoNamespace } = config;
    this.virtualNodes = new Informer(local, VirtualNodeResource, {
      namespace,
      fieldSelector: `metadata.name=${virtualNodeName}`,
      logger,
    });
    this.foreignClusters = new Informer(local, ForeignClusterResource, {
      fieldSelector: `metadata.name=${foreignClusterId}`,
      logger,
    });
    // Other providers' too: pods there are endpoints of Services. In any namespace, as a documented manifest names none.
    this.configurations = new Informer(local, ConfigurationResource, { logger });
    this.apiServerIPs = new Informer(local, IPResource, {
      namespace: liqoNamespace,
      labelSelector: `${Labels.ipType}=${IPType.apiServer}`,
      logger,
    });
    this.offloadings = new Informer(local, NamespaceOffloadingResource, {
      trim: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata, spec: {} }),
      logger,
    });
  }

  private get informers(): { start(): unknown; stop(): Promise<void>; onSync(listener: () => void): unknown }[] {
    return [this.virtualNodes, this.foreignClusters, this.configurations, this.apiServerIPs, this.offloadings];
  }

  /** Waits for what there is, however long this cluster's API server is away: a process that ended instead would be started ever later. */
  async start(signal: AbortSignal): Promise<void> {
    for (const informer of this.informers) informer.start();
    const synced = this.informers.map((informer) => new Promise<void>((resolve) => void informer.onSync(resolve)));
    await Promise.race([Promise.all(synced), aborted(signal)]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.informers.map((informer) => informer.stop()));
  }

  get virtualNode(): VirtualNode | undefined {
    return this.virtualNodes.find(this.config.tenantNamespace, this.config.virtualNodeName);
  }

  get foreignCluster(): ForeignCluster | undefined {
    return this.foreignClusters.get(this.config.foreignClusterId);
  }

  get configuration(): Configuration | undefined {
    const { foreignClusterId, tenantNamespace } = this.config;
    return peerConfiguration(this.configurations.list(), foreignClusterId, tenantNamespace);
  }

  /** Tells of changes to the Configuration of the provider; those of other clusters are no concern of its pods. */
  onProviderConfiguration(listener: () => void): void {
    const isProviders = ({ metadata }: Configuration): boolean =>
      metadata.labels?.[Labels.remoteClusterID] === this.config.foreignClusterId;
    this.configurations.onEvent((event) => {
      if (isProviders(event.object) || (event.type === "updated" && isProviders(event.old))) listener();
    });
  }

  /** This cluster's Configuration of any other; undefined without a network towards it. */
  configurationOf(clusterId: string): Configuration | undefined {
    return peerConfiguration(this.configurations.list(), clusterId, tenantNamespaceName(clusterId));
  }

  get offloadingPatch(): OffloadingPatch {
    const { offloadingPatch: patch = {} } = this.virtualNode?.spec ?? {};
    const { labelsNotReflected, annotationsNotReflected } = this.config;
    return {
      ...patch,
      labelsNotReflected: [...labelsNotReflected, ...(patch.labelsNotReflected ?? [])],
      annotationsNotReflected: [...annotationsNotReflected, ...(patch.annotationsNotReflected ?? [])],
    };
  }

  /** Assumed until the ForeignCluster has been reconciled once (offloading specification, §3). */
  get networkingEnabled(): boolean {
    const status = this.foreignCluster?.status;
    return !status?.observedGeneration || status.modules.networking.enabled;
  }

  /** A remote address as this cluster knows it; unchanged while there is no mapping. */
  translate(address: string): string {
    const { configuration } = this;
    return configuration && this.networkingEnabled ? mapRemoteAddress(configuration, address) : address;
  }

  /** The addresses by which this cluster's API server is offered to peers; none without networking. */
  get apiServerAddresses(): string[] {
    if (!this.networkingEnabled || !this.configuration?.status?.remote) return [];
    return this.apiServerIPs.list().flatMap((ip) => ip.status?.ip ?? []);
  }

  /** What a namespace says of its pods' access to API servers, where they say nothing themselves (offloading specification, §12.13). */
  apiServerSupportOf(namespace: string): string | undefined {
    const offloading = this.offloadings.find(namespace, Names.namespaceOffloading);
    return offloading?.metadata.annotations?.[Annotations.apiServerSupport];
  }

  get storageClass(): string | undefined {
    return preferred(this.virtualNode?.spec.storageClasses)?.storageClassName;
  }

  get ingressClass(): string | undefined {
    return preferred(this.virtualNode?.spec.ingressClasses)?.ingressClassName;
  }

  get loadBalancerClass(): string | undefined {
    return preferred(this.virtualNode?.spec.loadBalancerClasses)?.loadBalancerClassName;
  }
}

/** The entry marked as default, else the first. */
function preferred<T extends { default?: boolean }>(classes: T[] = []): T | undefined {
  return classes.find((entry) => entry.default) ?? classes[0];
}
