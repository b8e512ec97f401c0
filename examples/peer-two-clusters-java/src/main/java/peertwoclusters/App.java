package peertwoclusters;

import com.pulumi.Config;
import com.pulumi.Context;
import com.pulumi.Pulumi;
import com.pulumi.liqo.Agent;
import com.pulumi.liqo.AgentArgs;
import com.pulumi.liqo.NamespaceOffloading;
import com.pulumi.liqo.NamespaceOffloadingArgs;
import com.pulumi.liqo.Peering;
import com.pulumi.liqo.PeeringArgs;
import com.pulumi.liqo.enums.GatewayServiceType;
import com.pulumi.liqo.inputs.ClusterArgs;
import com.pulumi.liqo.inputs.GatewayServerArgs;
import com.pulumi.resources.ComponentResourceOptions;
import com.pulumi.resources.CustomResourceOptions;

/** Installs the agent in two clusters, peers them, and extends a namespace of the consumer to the provider. */
public final class App {
    public static void main(String[] args) {
        Pulumi.run(App::peerTwoClusters);
    }

    static void peerTwoClusters(Context context) {
        var config = context.config();
        var consumer = cluster(config, "consumer");
        var provider = cluster(config, "provider");

        var consumerAgent = agent(config, "consumer", consumer);
        var providerAgent = agent(config, "provider", provider);

        var peering = new Peering(
            "peering",
            PeeringArgs.builder()
                .consumer(consumer)
                .provider(provider)
                .gatewayServer(GatewayServerArgs.builder().type(GatewayServiceType.NodePort).build())
                .cpu("2")
                .memory("4Gi")
                .build(),
            ComponentResourceOptions.builder().dependsOn(consumerAgent, providerAgent).build());

        var offloading = new NamespaceOffloading(
            "offloading",
            NamespaceOffloadingArgs.builder()
                .cluster(consumer)
                .namespace(config.get("namespace").orElse("demo"))
                .createNamespace(true)
                .build(),
            CustomResourceOptions.builder().dependsOn(peering).build());

        context.export("consumerClusterId", peering.consumerClusterId());
        context.export("providerClusterId", peering.providerClusterId());
        context.export("virtualNodeName", peering.virtualNodeName());
        context.export("acceptedResources", peering.acceptedResources());
        context.export("remappedCIDRs", peering.remappedCIDRs());
        context.export("endpoint", peering.endpoint());
        context.export("remoteNamespace", offloading.remoteNamespace());
    }

    /** How to reach a cluster. What the configuration leaves open is found as kubectl finds it. */
    private static ClusterArgs cluster(Config config, String role) {
        var cluster = ClusterArgs.builder();
        config.get(role + "Kubeconfig").ifPresent(cluster::kubeconfig);
        config.get(role + "Context").ifPresent(cluster::context);
        return cluster.build();
    }

    private static Agent agent(Config config, String clusterId, ClusterArgs cluster) {
        var agent = AgentArgs.builder().cluster(cluster).clusterId(clusterId);
        // Absent: the agent's image that is released with the package.
        config.get("image").ifPresent(agent::image);
        return new Agent(clusterId + "-agent", agent.build());
    }

    private App() {}
}
