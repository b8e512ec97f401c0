import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as liqo from "pulumi-liqo";

/** What a kubernetes Provider and a peering's cluster take alike. */
export type ClusterSettings = liqo.types.input.ClusterArgs & k8s.ProviderArgs;

/** The regions that pods may run in: a selector of virtual nodes, and as well the pods' own affinity. */
const regions = {
  key: "topology.kubernetes.io/region",
  operator: liqo.NodeSelectorOperator.In,
  values: ["eu-west", "eu-north"],
} satisfies k8s.types.input.core.v1.NodeSelectorRequirement;

/** Peers two clusters, extends the namespace `shop` to the provider, and deploys a web server to both. */
export function deployShop({ consumer, provider }: Record<"consumer" | "provider", ClusterSettings>) {
  const peering = new liqo.Peering("peering", { consumer, provider, gatewayServer: { type: "NodePort" }, cpu: "2" });

  const kubernetes = new k8s.Provider("consumer", consumer);
  const namespace = new k8s.core.v1.Namespace("shop", { metadata: { name: "shop" } }, { provider: kubernetes });
  const offloading = new liqo.NamespaceOffloading(
    "shop",
    {
      cluster: consumer,
      namespace: namespace.metadata.name,
      clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [regions] }] },
    },
    { dependsOn: peering },
  );

  const labels = { app: "web" };
  // Pods are made once the namespace is offloaded: those made before would stay where they are.
  const options = { provider: kubernetes, dependsOn: offloading };
  const deployment = new k8s.apps.v1.Deployment(
    "web",
    {
      metadata: { namespace: namespace.metadata.name },
      spec: {
        replicas: 4,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            affinity: preferProvider(),
            // As many on the provider as on the consumer's own nodes.
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: "liqo.io/type",
                whenUnsatisfiable: "ScheduleAnyway",
                labelSelector: { matchLabels: labels },
              },
            ],
            containers: [{ name: "web", image: "nginx:1.29", resources: { requests: { cpu: "100m" } } }],
          },
        },
      },
    },
    options,
  );
  const service = new k8s.core.v1.Service(
    "web",
    { metadata: { namespace: namespace.metadata.name }, spec: { selector: labels, ports: [{ port: 80 }] } },
    options,
  );
  return {
    node: peering.virtualNodeName,
    replicas: deployment.spec.replicas,
    address: pulumi.interpolate`http://${service.metadata.name}.${service.metadata.namespace}`,
  };
}

/** The scheduler takes virtual nodes of these regions first. */
function preferProvider(): k8s.types.input.core.v1.Affinity {
  const virtual = { key: "liqo.io/type", operator: "In", values: ["virtual-node"] };
  return {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 50, preference: { matchExpressions: [virtual, regions] } },
      ],
    },
  };
}
