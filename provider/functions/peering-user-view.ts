import type { Deployment } from "kubernetes-types/apps/v1";
import {
  ConfigurationResource,
  ConnectionResource,
  ForeignClusterResource,
  gatewayResourceName,
  GatewayClientResource,
  GatewayServerResource,
  TenantResource,
  type ForeignCluster,
} from "../../agent/api/index.js";
import {
  authenticationFindings,
  isAuthenticationInUse,
} from "../../agent/controller/status/authentication-findings.js";
import { moduleStatus } from "../../agent/controller/status/conditions.js";
import { isNetworkingInUse, networkingFindings } from "../../agent/controller/status/networking-findings.js";
import { roleOf } from "../../agent/controller/status/peer-address.js";
import { isEmptyView, type PeerView } from "../../agent/controller/status/peer-view.js";
import {
  DeploymentResource,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { findPeeringUser, type PeeringUser } from "../preconditions/told-namespace.js";
import { ifVisible } from "../waits/index.js";
import type { PeerSources } from "./peer-info.js";

const WHOSE = "to a peering user, which may look into its tenant namespace and at the agent's ID and ranges alone";

/** What the cluster keeps from a peering user when it is asked of itself. */
export const HIDDEN_IN_CLUSTER = [
  `The agent's pods, and with them its health, are not shown ${WHOSE}.`,
  "Nor are the cluster's labels, and peers other than the own consumer.",
  "Resource slices and virtual nodes are to be seen with credentials of the consumer's cluster.",
];

/** The same when it is asked of the consumer. */
export const HIDDEN_OF_PEER = [
  `Resource slices, and what is offloaded, are not shown ${WHOSE}: ask the consumer's cluster.`,
];

/** Two ways to read the same. */
export interface AsFarAsVisible<T> {
  everything: () => Promise<T>;
  toPeeringUser: (user: PeeringUser) => Promise<T>;
}

/** Everything; where that is forbidden to a peering user, what it may see. @throws KubeError for others that may not see it */
export async function asFarAsVisible<T>(
  client: KubeClient,
  signal: AbortSignal,
  { everything, toPeeringUser }: AsFarAsVisible<T>,
): Promise<T> {
  try {
    return await everything();
  } catch (error) {
    const user = isForbidden(error) ? await findPeeringUser(client, signal) : undefined;
    if (!user) throw error;
    return toPeeringUser(user);
  }
}

/** A peer as its ForeignCluster would have it, with what that is told from. */
export interface OwnPeer {
  foreign: ForeignCluster;
  sources: PeerSources;
}

/**
 * The consumer of a peering user. ForeignClusters are hidden from it; what the agent judges networking and authentication by is in its tenant
 * namespace. Undefined before anything is there.
 */
export async function readOwnPeer(
  client: KubeClient,
  user: PeeringUser,
  signal: AbortSignal,
): Promise<OwnPeer | undefined> {
  const view = await readOwnView(client, user.tenantNamespace, signal);
  if (isEmptyView(view)) return undefined;
  const { consumer: clusterID } = user;
  const { configurations, gatewayServers: servers, gatewayClients: clients } = view;
  const modules = {
    networking: moduleStatus(isNetworkingInUse(view), networkingFindings(view), undefined),
    authentication: moduleStatus(isAuthenticationInUse(view), authenticationFindings(view), undefined),
    offloading: { enabled: false },
  };
  return {
    foreign: ForeignClusterResource.build({
      metadata: { name: clusterID },
      spec: { clusterID },
      status: { role: roleOf(view), modules },
    }),
    sources: { configurations, servers, clients, slices: [], virtualNodes: [], nodes: [] },
  };
}

async function readOwnView(client: KubeClient, namespace: string, signal: AbortSignal): Promise<PeerView> {
  const inTenant = async <T extends KubeObject>(type: ResourceType<T>): Promise<T[]> =>
    (await ifVisible(client.list(type, { namespace, signal })))?.items ?? [];
  const [configurations, connections, gatewayServers, gatewayClients, tenants] = await Promise.all([
    inTenant(ConfigurationResource),
    inTenant(ConnectionResource),
    inTenant(GatewayServerResource),
    inTenant(GatewayClientResource),
    inTenant(TenantResource),
  ]);
  const gateways = [...gatewayServers, ...gatewayClients].map(({ metadata }) =>
    gatewayResourceName(metadata.name ?? ""),
  );
  const deployments = await Promise.all(
    gateways.map((name) =>
      ifVisible<Deployment | undefined>(client.get(DeploymentResource, { name, namespace }, signal)),
    ),
  );
  return {
    ...{ configurations, connections, gatewayServers, gatewayClients, tenants },
    ...{ identities: [], secrets: [], virtualNodes: [], nodes: [] },
    deployment: (_namespace, name) => deployments.find((deployment) => deployment?.metadata?.name === name),
    virtualKubeletPods: () => [],
  };
}
