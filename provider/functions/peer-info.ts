import {
  ConfigurationResource,
  ForeignClusterResource,
  GatewayClientResource,
  GatewayServerResource,
  normalizeCidrs,
  ResourceSliceResource,
  VirtualNodeResource,
  type Configuration,
  type ForeignCluster,
  type GatewayClient,
  type GatewayServer,
  type ResourceSlice,
  type VirtualNode,
} from "../../agent/api/index.js";
import { Labels, LabelValues } from "../../agent/api/labels.js";
import { findCondition } from "../../agent/runtime/conditions.js";
import { NodeResource } from "../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { Node } from "kubernetes-types/core/v1";
import type { PeerInfo } from "./info-schema.js";
import type { PeeringUser } from "../preconditions/told-namespace.js";
import { requireInstallation } from "./cluster-info.js";
import { moduleAlerts, moduleHealth } from "./module-health.js";
import { asFarAsVisible, HIDDEN_OF_PEER, readOwnPeer } from "./peering-user-view.js";

/** Everything in a cluster from which peers are told. */
export interface PeerSources {
  configurations: Configuration[];
  servers: GatewayServer[];
  clients: GatewayClient[];
  slices: ResourceSlice[];
  virtualNodes: VirtualNode[];
  nodes: Node[];
}

/**
 * What Liqo's `info peer` tells, by cluster ID; of it, to a peering user, what that may see.
 *
 * @throws Error naming the peers that there are when one asked for is none, or there is no agent
 */
export async function readPeerInfo(
  client: KubeClient,
  clusterIDs: string[],
  signal: AbortSignal,
): Promise<Record<string, PeerInfo>> {
  return asFarAsVisible(client, signal, {
    everything: async () => {
      await requireInstallation(client, signal);
      return readAllPeers(client, clusterIDs, signal);
    },
    toPeeringUser: (user) => readPeersAsPeeringUser(client, user, clusterIDs, signal),
  });
}

/** Its own consumer, once that has begun to peer. */
export async function readPeersAsPeeringUser(
  client: KubeClient,
  user: PeeringUser,
  clusterIDs: string[],
  signal: AbortSignal,
): Promise<Record<string, PeerInfo>> {
  const { consumer } = user;
  const others = clusterIDs.filter((id) => id !== consumer);
  if (others.length > 0) {
    const only = `these are the credentials of ${consumer}'s peering user, which may see no other peer`;
    throw new Error(`cluster ${client.cluster} does not show ${others.join(", ")}: ${only}`);
  }
  const own = await readOwnPeer(client, user, signal);
  if (!own && clusterIDs.length > 0) {
    throw new Error(`cluster ${client.cluster} has no peer ${consumer} yet: nothing is in ${user.tenantNamespace}`);
  }
  if (!own) return {};
  const { offloading, ...visible } = describePeer(own.foreign, own.sources);
  const unknown = { ...offloading, status: "Unknown" as const };
  return { [consumer]: { ...visible, offloading: unknown, notVisible: HIDDEN_OF_PEER } };
}

/** Of a cluster that is known to have an agent. @throws Error naming the peers that there are when one asked for is none */
export async function readAllPeers(
  client: KubeClient,
  clusterIDs: string[],
  signal: AbortSignal,
): Promise<Record<string, PeerInfo>> {
  const { items: foreign } = await client.list(ForeignClusterResource, { signal });
  const there = foreign.map(({ spec }) => spec.clusterID ?? "");
  const unknown = clusterIDs.filter((id) => !there.includes(id));
  if (unknown.length > 0) {
    throw new Error(
      `cluster ${client.cluster} has no peer ${unknown.join(", ")}; its peers are ${there.join(", ") || "none"}`,
    );
  }
  const wanted =
    clusterIDs.length > 0 ? foreign.filter(({ spec }) => clusterIDs.includes(spec.clusterID ?? "")) : foreign;
  if (wanted.length === 0) return {};
  const sources = await readSources(client, signal);
  return Object.fromEntries(wanted.map((peer) => [peer.spec.clusterID ?? "", describePeer(peer, sources)] as const));
}

async function readSources(client: KubeClient, signal: AbortSignal): Promise<PeerSources> {
  const labelSelector = Labels.remoteClusterID;
  const [configurations, servers, clients, slices, virtualNodes, nodes] = await Promise.all([
    client.list(ConfigurationResource, { labelSelector, signal }),
    client.list(GatewayServerResource, { labelSelector, signal }),
    client.list(GatewayClientResource, { labelSelector, signal }),
    client.list(ResourceSliceResource, { labelSelector, signal }),
    client.list(VirtualNodeResource, { labelSelector, signal }),
    client.list(NodeResource, { labelSelector: `${Labels.type}=${LabelValues.virtualNodeType}`, signal }),
  ]);
  return {
    configurations: configurations.items,
    servers: servers.items,
    clients: clients.items,
    slices: slices.items,
    virtualNodes: virtualNodes.items,
    nodes: nodes.items,
  };
}

export function describePeer(peer: ForeignCluster, sources: PeerSources): PeerInfo {
  const id = peer.spec.clusterID ?? "";
  const { networking, authentication, offloading } = peer.status?.modules ?? {};
  const ofPeer = <T extends { metadata: { labels?: Record<string, string> } }>(objects: T[]): T[] =>
    objects.filter(({ metadata }) => metadata.labels?.[Labels.remoteClusterID] === id);
  return {
    info: { clusterID: id, role: peer.status?.role ?? "Unknown" },
    network: {
      status: moduleHealth(networking),
      ...alertsOf(moduleAlerts(networking)),
      CIDRs: rangesOf(ofPeer(sources.configurations)[0]),
      ...gatewayOf(ofPeer(sources.servers)[0], ofPeer(sources.clients)[0]),
    },
    authentication: {
      status: moduleHealth(authentication),
      ...alertsOf(moduleAlerts(authentication)),
      APIServerAddr: peer.status?.apiServerUrl ?? "",
      resourceSlices: ofPeer(sources.slices).map(describeSlice),
    },
    offloading: {
      status: moduleHealth(offloading),
      ...alertsOf(moduleAlerts(offloading)),
      virtualNodes: ofPeer(sources.virtualNodes).map((one) => describeVirtualNode(one, sources.nodes)),
    },
  };
}

function alertsOf(alerts: string[]): { alerts?: string[] } {
  return alerts.length > 0 ? { alerts } : {};
}

function rangesOf(configuration: Configuration | undefined): PeerInfo["network"]["CIDRs"] {
  if (!configuration) return {};
  const read = (cidr: { pod?: unknown; external?: unknown } | undefined) => ({
    pod: normalizeCidrs(cidr?.pod as string | string[] | undefined),
    external: normalizeCidrs(cidr?.external as string | string[] | undefined),
  });
  const remote = read(configuration.spec.remote?.cidr);
  const remapped = read(configuration.status?.remote?.cidr);
  const differs = remapped.pod.length > 0 && JSON.stringify(remote) !== JSON.stringify(remapped);
  return { remote, ...(differs ? { remapped } : {}) };
}

function gatewayOf(
  server: GatewayServer | undefined,
  client: GatewayClient | undefined,
): { gateway?: PeerInfo["network"]["gateway"] } {
  if (server) return { gateway: { ...placeOf(server.status?.endpoint), role: "Server" } };
  return client ? { gateway: { ...placeOf(client.spec.endpoint), role: "Client" } } : {};
}

/** Of several ports, the first. */
function placeOf({
  addresses = [],
  port,
  ports = [],
}: {
  addresses?: string[];
  port?: number;
  ports?: number[];
} = {}): { address: string[]; port?: number } {
  const first = port ?? ports[0];
  return { address: addresses, ...(first === undefined ? {} : { port: first }) };
}

/** A slice is of use once both are accepted: resources, and an identity to use them with. */
const SLICE_CONDITIONS = ["Authentication", "Resources"];

function describeSlice({
  metadata,
  spec,
  status,
}: ResourceSlice): PeerInfo["authentication"]["resourceSlices"][number] {
  const isCopy = metadata.labels?.[Labels.replicated] === "true";
  const conditions = status?.conditions ?? [];
  const denied = conditions.filter((condition) => condition.status === "Denied");
  return {
    name: metadata.name ?? "",
    action: isCopy ? "Providing" : "Consuming",
    accepted: SLICE_CONDITIONS.every((type) => findCondition(conditions, type)?.status === "Accepted"),
    ...alertsOf(denied.map(({ type, message }) => `${type}: ${message ?? "denied"}`)),
    resources: texts(status?.resources ?? spec.resources),
  };
}

function describeVirtualNode(
  { metadata, spec }: VirtualNode,
  nodes: Node[],
): PeerInfo["offloading"]["virtualNodes"][number] {
  const name = metadata.name ?? "";
  const node = nodes.find((one) => one.metadata?.name === name);
  const isReady = node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  const slice = metadata.labels?.[Labels.resourceSliceName];
  return {
    name,
    status: spec.createNode === false ? "Disabled" : isReady ? "Healthy" : "Unhealthy",
    secret: spec.kubeconfigSecretRef?.name ?? "",
    ...(slice ? { resourceSlice: slice } : {}),
    resources: texts(spec.resourceQuota?.hard),
  };
}

function texts(quantities: Record<string, string | number> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(quantities ?? {}).map(([name, amount]) => [name, String(amount)]));
}
