// Command peer-two-clusters installs the agent in two clusters, peers them, and extends a namespace of the consumer to the provider.
package main

import (
	"github.com/pulumi-liqo/pulumi-liqo/sdk/go/liqo"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(peerTwoClusters)
}

func peerTwoClusters(ctx *pulumi.Context) error {
	settings := config.New(ctx, "")
	consumer := cluster(settings, "consumer")
	provider := cluster(settings, "provider")

	consumerAgent, err := liqo.NewAgent(ctx, "consumer-agent", agent(settings, "consumer", consumer))
	if err != nil {
		return err
	}
	providerAgent, err := liqo.NewAgent(ctx, "provider-agent", agent(settings, "provider", provider))
	if err != nil {
		return err
	}

	peering, err := liqo.NewPeering(ctx, "peering", &liqo.PeeringArgs{
		Consumer:      consumer,
		Provider:      provider,
		GatewayServer: &liqo.GatewayServerArgs{Type: liqo.GatewayServiceTypeNodePort},
		Cpu:           pulumi.String("2"),
		Memory:        pulumi.String("4Gi"),
	}, pulumi.DependsOn([]pulumi.Resource{consumerAgent, providerAgent}))
	if err != nil {
		return err
	}

	offloading, err := liqo.NewNamespaceOffloading(ctx, "offloading", &liqo.NamespaceOffloadingArgs{
		Cluster:         consumer,
		Namespace:       pulumi.String(namespace(settings)),
		CreateNamespace: pulumi.Bool(true),
	}, pulumi.DependsOn([]pulumi.Resource{peering}))
	if err != nil {
		return err
	}

	ctx.Export("consumerClusterId", peering.ConsumerClusterId)
	ctx.Export("providerClusterId", peering.ProviderClusterId)
	ctx.Export("virtualNodeName", peering.VirtualNodeName)
	ctx.Export("acceptedResources", peering.AcceptedResources)
	ctx.Export("remappedCIDRs", peering.RemappedCIDRs)
	ctx.Export("endpoint", peering.Endpoint)
	ctx.Export("remoteNamespace", offloading.RemoteNamespace)
	return nil
}

// cluster says how to reach one. What the configuration leaves open is found as kubectl finds it.
func cluster(settings *config.Config, role string) *liqo.ClusterArgs {
	return &liqo.ClusterArgs{
		Kubeconfig: optional(settings.Get(role + "Kubeconfig")),
		Context:    optional(settings.Get(role + "Context")),
	}
}

func agent(settings *config.Config, clusterID string, cluster *liqo.ClusterArgs) *liqo.AgentArgs {
	return &liqo.AgentArgs{
		Cluster:   cluster,
		ClusterId: pulumi.String(clusterID),
		// Absent: the agent's image that is released with the package.
		Image: optional(settings.Get("image")),
	}
}

func namespace(settings *config.Config) string {
	if name := settings.Get("namespace"); name != "" {
		return name
	}
	return "demo"
}

func optional(value string) pulumi.StringPtrInput {
	if value == "" {
		return nil
	}
	return pulumi.String(value)
}
