using System.Collections.Generic;
using Pulumi;
using Liqo = Pulumi.Liqo;

// Installs the agent in two clusters, peers them, and extends a namespace of the consumer to the provider.
return await Deployment.RunAsync(() =>
{
    var config = new Config();

    // Absent kubeconfigs and contexts: KUBECONFIG and kubectl's own rules.
    Liqo.Inputs.ClusterArgs ClusterOf(string role)
    {
        var cluster = new Liqo.Inputs.ClusterArgs();
        if (config.Get($"{role}Kubeconfig") is { } kubeconfig) cluster.Kubeconfig = kubeconfig;
        if (config.Get($"{role}Context") is { } context) cluster.Context = context;
        return cluster;
    }

    Liqo.Agent AgentOf(string role)
    {
        var args = new Liqo.AgentArgs { Cluster = ClusterOf(role), ClusterId = role };
        // Absent: the agent's image that is released with the package.
        if (config.Get("image") is { } image) args.Image = image;
        return new Liqo.Agent($"{role}-agent", args);
    }

    var consumerAgent = AgentOf("consumer");
    var providerAgent = AgentOf("provider");

    var peering = new Liqo.Peering("peering", new Liqo.PeeringArgs
    {
        Consumer = ClusterOf("consumer"),
        Provider = ClusterOf("provider"),
        GatewayServer = new Liqo.Inputs.GatewayServerArgs { Type = Liqo.GatewayServiceType.NodePort },
        Cpu = "2",
        Memory = "4Gi",
    }, new ComponentResourceOptions { DependsOn = { consumerAgent, providerAgent } });

    var offloading = new Liqo.NamespaceOffloading("offloading", new Liqo.NamespaceOffloadingArgs
    {
        Cluster = ClusterOf("consumer"),
        Namespace = config.Get("namespace") ?? "demo",
        CreateNamespace = true,
    }, new CustomResourceOptions { DependsOn = { peering } });

    return new Dictionary<string, object?>
    {
        ["consumerClusterId"] = peering.ConsumerClusterId,
        ["providerClusterId"] = peering.ProviderClusterId,
        ["virtualNodeName"] = peering.VirtualNodeName,
        ["acceptedResources"] = peering.AcceptedResources,
        ["remappedCIDRs"] = peering.RemappedCIDRs,
        ["endpoint"] = peering.Endpoint,
        ["remoteNamespace"] = offloading.RemoteNamespace,
    };
});
