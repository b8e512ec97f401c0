/** Finalizers (API specification, §9). */
export const Finalizers = {
  tenant: "tenant.liqo.io/finalizer",
  /** On ControlPlane kubeconfig Secrets. */
  replicatorOperator: "crdreplicator.liqo.io/operator",
  /** On replication sources. */
  replicatorResource: "crdreplicator.liqo.io/resource",
  apiServerChecker: "api-server-checker.liqo.io/finalizer",
  virtualNode: "virtualnode-controller.liqo.io/finalizer",
  namespaceMap: "namespacemap-controller.liqo.io/finalizer",
  namespaceOffloading: "namespaceoffloading-controller.liqo.io/finalizer",
  network: "network.ipam.liqo.io/finalizer",
  ip: "ip.ipam.liqo.io/finalizer",
  ipMapping: "ipmapping-nat-controller.liqo.io/finalizer",
  /** On WgGatewayServers and WgGatewayClients. */
  gatewayClusterRoleBinding: "networking.liqo.io/clusterrolebinding",
  firewallConfiguration: "firewallconfigurations-controller.liqo.io/finalizer",
  routeConfiguration: "routeconfiguration-controller.liqo.io/finalizer",
  internalFabric: "internalfabric-controller.liqo.io/finalizer",
  internalNodesRoute: "internalnodes-route.liqo.io/finalizer",
  internalFabricGeneveTunnel: "networking.liqo.io/internal-fabric-geneve-tunnel-finalizer",
} as const;
