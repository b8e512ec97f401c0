import type { Deployment } from "kubernetes-types/apps/v1";
import type { Namespace, Node, Pod, Secret } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  IdentityResource,
  Labels,
  LabelValues,
  TenantResource,
  VirtualNodeResource,
  type Configuration,
  type Connection,
  type GatewayClient,
  type GatewayServer,
  type Identity,
  type Tenant,
  type VirtualNode,
} from "../../api/index.js";
import {
  DeploymentResource,
  NamespaceResource,
  SecretResource,
  isDeleting,
  type Informer,
  type KubeObject,
} from "../../runtime/index.js";
import { isControlPlaneIdentity, remoteClusterOf } from "../authentication/lookups.js";
import type { ControllerContext } from "../context.js";
import { virtualClusterNodes, virtualKubeletPods } from "../offloading/informers.js";

/** Everything on this cluster that concerns one peer. */
export interface PeerView {
  configurations: Configuration[];
  connections: Connection[];
  gatewayServers: GatewayServer[];
  gatewayClients: GatewayClient[];
  tenants: Tenant[];
  /** ControlPlane identities. */
  identities: Identity[];
  /** ControlPlane kubeconfig Secrets, of the peer's tenant namespace alone. */
  secrets: Secret[];
  virtualNodes: VirtualNode[];
  nodes: Node[];
  /** A gateway's Deployment, by the Deployment's name. */
  deployment(namespace: string, name: string): Deployment | undefined;
  /** The pods of a VirtualNode's process. */
  virtualKubeletPods(virtualNode: VirtualNode): Pod[];
}

/** The informers that views are made from. */
export class PeerViews {
  readonly configurations: Informer<Configuration>;
  readonly connections: Informer<Connection>;
  readonly gatewayServers: Informer<GatewayServer>;
  readonly gatewayClients: Informer<GatewayClient>;
  readonly tenants: Informer<Tenant>;
  readonly identities: Informer<Identity>;
  readonly virtualNodes: Informer<VirtualNode>;
  readonly nodes: Informer<Node>;
  readonly secrets: Informer<Secret>;
  readonly tenantNamespaces: Informer<Namespace>;
  readonly deployments: Informer<Deployment>;
  readonly pods: Informer<Pod>;

  constructor(context: ControllerContext) {
    const { informers } = context;
    this.configurations = informers.for(ConfigurationResource);
    this.connections = informers.for(ConnectionResource);
    this.gatewayServers = informers.for(GatewayServerResource);
    this.gatewayClients = informers.for(GatewayClientResource);
    this.tenants = informers.for(TenantResource);
    this.identities = informers.for(IdentityResource);
    this.virtualNodes = informers.for(VirtualNodeResource);
    this.nodes = virtualClusterNodes(context);
    this.secrets = informers.for(SecretResource, { labelSelector: Labels.identityType });
    this.tenantNamespaces = informers.for(NamespaceResource, { labelSelector: Labels.tenantNamespace });
    const gateways = `${Labels.networkingComponent}=${LabelValues.gatewayComponent}`;
    this.deployments = informers.for(DeploymentResource, { labelSelector: gateways });
    this.pods = virtualKubeletPods(context);
  }

  of(clusterID: string): PeerView {
    const about = <T extends KubeObject>(informer: Informer<T>): T[] =>
      informer.list().filter((object) => remoteClusterOf(object) === clusterID);
    return {
      configurations: about(this.configurations),
      connections: about(this.connections),
      gatewayServers: about(this.gatewayServers),
      gatewayClients: about(this.gatewayClients),
      tenants: about(this.tenants),
      identities: about(this.identities).filter(({ spec }) => spec.type === "ControlPlane"),
      secrets: about(this.secrets).filter((secret) => isControlPlaneIdentity(this.tenantNamespaces, secret)),
      virtualNodes: about(this.virtualNodes),
      nodes: about(this.nodes),
      deployment: (namespace, name) => this.deployments.find(namespace, name),
      virtualKubeletPods: (virtualNode) => this.podsOf(virtualNode),
    };
  }

  /** The peers of VirtualNodes whose pod changed. */
  clustersOfPod(pod: Pod): string[] {
    const virtualNodes = this.virtualNodes.list().filter((virtualNode) => isPodOf(pod, virtualNode));
    return virtualNodes.flatMap((virtualNode) => remoteClusterOf(virtualNode) ?? []);
  }

  /** The peers of gateways whose Deployment changed. */
  clustersOfDeployment({ metadata }: Deployment): string[] {
    return [
      ...this.gatewayServers.inNamespace(metadata?.namespace ?? ""),
      ...this.gatewayClients.inNamespace(metadata?.namespace ?? ""),
    ].flatMap((gateway) => remoteClusterOf(gateway) ?? []);
  }

  private podsOf(virtualNode: VirtualNode): Pod[] {
    return this.pods.list().filter((pod) => isPodOf(pod, virtualNode) && !isDeleting(pod));
  }
}

/** Whether anything at all on this cluster concerns the peer. */
export function isEmptyView(view: PeerView): boolean {
  const { configurations, connections, gatewayServers, gatewayClients } = view;
  const { tenants, identities, secrets, virtualNodes, nodes } = view;
  const all = [
    configurations,
    connections,
    gatewayServers,
    gatewayClients,
    tenants,
    identities,
    secrets,
    virtualNodes,
    nodes,
  ];
  return all.every((objects) => objects.length === 0);
}

function isPodOf({ metadata }: Pod, virtualNode: VirtualNode): boolean {
  const labels = metadata?.labels ?? {};
  const name = labels[Labels.virtualNode] ?? labels[Labels.offloadingNodeName];
  return name === virtualNode.metadata.name && metadata?.namespace === virtualNode.metadata.namespace;
}
