import * as liqo from "pulumi-liqo";

/** A cluster to peer. */
export interface Cluster {
  /** Path or content. Absent: KUBECONFIG and kubectl's own rules. */
  kubeconfig?: string;
  /** Absent: the kubeconfig's current one. */
  context?: string;
  /** What its peers call it. */
  clusterId: string;
}

export interface Options {
  consumer: Cluster;
  provider: Cluster;
  /** The namespace to extend; created if it is not there. */
  namespace: string;
  /** The agent's image. Absent: the one released with the package. */
  image?: string;
}

/** Installs the agent in two clusters, peers them, and extends a namespace of the consumer to the provider. */
export function peerTwoClusters({ consumer, provider, namespace, image }: Options) {
  const [consumerCluster, providerCluster] = [consumer, provider].map(({ kubeconfig, context }) => ({
    kubeconfig,
    context,
  }));

  const agents = [
    new liqo.Agent("consumer", { cluster: consumerCluster, clusterId: consumer.clusterId, image }),
    new liqo.Agent("provider", { cluster: providerCluster, clusterId: provider.clusterId, image }),
  ];

  const peering = new liqo.Peering(
    "peering",
    {
      consumer: consumerCluster,
      provider: providerCluster,
      gatewayServer: { type: "NodePort" },
      cpu: "2",
      memory: "4Gi",
    },
    { dependsOn: agents },
  );

  const offloading = new liqo.NamespaceOffloading(
    "offloading",
    { cluster: consumerCluster, namespace, createNamespace: true },
    { dependsOn: peering },
  );

  return {
    consumerClusterId: peering.consumerClusterId,
    providerClusterId: peering.providerClusterId,
    virtualNodeName: peering.virtualNodeName,
    acceptedResources: peering.acceptedResources,
    remappedCIDRs: peering.remappedCIDRs,
    endpoint: peering.endpoint,
    remoteNamespace: offloading.remoteNamespace,
  };
}
