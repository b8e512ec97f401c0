"""Installs the agent in two clusters, peers them, and extends a namespace of the consumer to the provider."""

import pulumi
import pulumi_liqo as liqo

config = pulumi.Config()
# Absent: the agent's image that is released with the package.
image = config.get("image")
# Absent kubeconfigs and contexts: KUBECONFIG and kubectl's own rules.
consumer = liqo.ClusterArgs(
    kubeconfig=config.get("consumerKubeconfig"), context=config.get("consumerContext")
)
provider = liqo.ClusterArgs(
    kubeconfig=config.get("providerKubeconfig"), context=config.get("providerContext")
)

consumer_agent = liqo.Agent("consumer-agent", cluster=consumer, cluster_id="consumer", image=image)
provider_agent = liqo.Agent("provider-agent", cluster=provider, cluster_id="provider", image=image)

peering = liqo.Peering(
    "peering",
    consumer=consumer,
    provider=provider,
    gateway_server=liqo.GatewayServerArgs(type=liqo.GatewayServiceType.NODE_PORT),
    cpu="2",
    memory="4Gi",
    opts=pulumi.ResourceOptions(depends_on=[consumer_agent, provider_agent]),
)

offloading = liqo.NamespaceOffloading(
    "offloading",
    cluster=consumer,
    namespace=config.get("namespace") or "demo",
    create_namespace=True,
    opts=pulumi.ResourceOptions(depends_on=[peering]),
)

pulumi.export("consumerClusterId", peering.consumer_cluster_id)
pulumi.export("providerClusterId", peering.provider_cluster_id)
pulumi.export("virtualNodeName", peering.virtual_node_name)
pulumi.export("acceptedResources", peering.accepted_resources)
pulumi.export("remappedCIDRs", peering.remapped_cidrs)
pulumi.export("endpoint", peering.endpoint)
pulumi.export("remoteNamespace", offloading.remote_namespace)
