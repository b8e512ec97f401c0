import type { PeerInfo } from "../info-schema.js";
import type { Topology, TopologyCluster, TopologyLink, TopologyNode, TopologyPeering } from "./schema.js";
import type { ClusterView } from "./view.js";

/** A cluster that was asked: what it told, or why it did not. */
export type Answer = { name: string; view: ClusterView } | { name: string; error: string };

/** Joins what several clusters tell of each other: each link once, each direction of a peering as its consumer sees it where that was asked. */
export function mergeViews(answers: readonly Answer[]): Topology {
  const views = new Map(
    answers.flatMap((answer) => ("view" in answer ? [[answer.view.info.local.clusterID, answer.view] as const] : [])),
  );
  const clusters = clustersOf(answers, views);
  const links = new Map<string, TopologyLink>();
  const peerings = new Map<string, TopologyPeering>();
  for (const [id, view] of views) {
    for (const [peerId, peer] of Object.entries(view.peers)) {
      addLink(links, id, peerId, peer, view.roundTrips.get(peerId));
      if (peer.info.role.endsWith("Provider")) peerings.set(`${id}/${peerId}`, asConsumer(id, peerId, peer, view));
      if (peer.info.role.startsWith("Consumer") && !views.has(peerId)) {
        peerings.set(`${peerId}/${id}`, asProvider(id, peerId, peer, view));
      }
    }
  }
  const sorted = <T>(map: Map<string, T>): T[] =>
    [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  return { clusters, links: sorted(links), peerings: sorted(peerings) };
}

function clustersOf(answers: readonly Answer[], views: Map<string, ClusterView>): TopologyCluster[] {
  const asked = [...views].map(([clusterID, { info }]) => ({
    clusterID,
    asked: true,
    version: info.local.version,
    healthy: info.health.healthy,
    APIServerAddr: info.local.APIServerAddr,
    labels: info.local.labels,
    ...(info.network ? { podCIDRs: info.network.podCIDRs } : {}),
    ...(info.notVisible ? { notVisible: info.notVisible } : {}),
  }));
  const silent = answers.flatMap((answer) =>
    "error" in answer && !views.has(answer.name) ? [{ clusterID: answer.name, asked: true, error: answer.error }] : [],
  );
  const here = new Set([...asked, ...silent].map(({ clusterID }) => clusterID));
  const peers = new Set([...views.values()].flatMap(({ peers: known }) => Object.keys(known)));
  const unasked = [...peers].filter((id) => !here.has(id)).map((clusterID) => ({ clusterID, asked: false }));
  return [...asked, ...silent, ...unasked].sort((a, b) => (a.clusterID < b.clusterID ? -1 : 1));
}

/** Both ends tell of a link: it is as bad as the worse of them says, and as slow as both say on average. */
function addLink(
  links: Map<string, TopologyLink>,
  id: string,
  peerId: string,
  peer: PeerInfo,
  roundTrip?: number,
): void {
  const { status, alerts, gateway } = peer.network;
  if (status === "Disabled") return;
  const clusters = [id, peerId].sort();
  const key = clusters.join("/");
  const other = links.get(key);
  const times = [other?.roundTripMilliseconds, roundTrip].filter((time) => time !== undefined);
  const server = gateway?.role === "Server" ? id : gateway?.role === "Client" ? peerId : other?.server;
  const told = [...new Set([...(other?.alerts ?? []), ...(alerts ?? [])])];
  links.set(key, {
    clusters,
    status: other?.status === "Unhealthy" ? "Unhealthy" : status,
    ...(server ? { server } : {}),
    ...(times.length > 0 ? { roundTripMilliseconds: times.reduce((a, b) => a + b) / times.length } : {}),
    ...(told.length > 0 ? { alerts: told } : {}),
  });
}

function asConsumer(consumer: string, provider: string, peer: PeerInfo, view: ClusterView): TopologyPeering {
  const virtualNodes = peer.offloading.virtualNodes.map(({ name, status, resources }) =>
    nodeOf(name, status, resources, view.usedOnNodes.get(name)),
  );
  return { consumer, provider, ...statesOf(peer), virtualNodes };
}

/** The provider knows slices, not the nodes made of them, and what runs for the consumer as a whole. */
function asProvider(provider: string, consumer: string, peer: PeerInfo, view: ClusterView): TopologyPeering {
  const slices = peer.authentication.resourceSlices.filter(({ action }) => action === "Providing");
  const used = slices.length === 1 ? view.usedByConsumers.get(consumer) : undefined;
  const virtualNodes = slices.map(({ name, accepted, resources }) =>
    nodeOf(name, accepted ? "Healthy" : "Unhealthy", resources, used),
  );
  return { consumer, provider, ...statesOf(peer), virtualNodes };
}

function statesOf({ authentication, offloading }: PeerInfo) {
  const alerts = [...(authentication.alerts ?? []), ...(offloading.alerts ?? [])];
  return {
    authenticationStatus: authentication.status,
    offloadingStatus: offloading.status,
    ...(alerts.length > 0 ? { alerts } : {}),
  };
}

/** Resources that nothing was granted of are of no interest. */
function nodeOf(
  name: string,
  status: TopologyNode["status"],
  granted: Record<string, string>,
  used: Record<string, string> | undefined,
): TopologyNode {
  const counted = used ? Object.keys(granted).map((resource) => [resource, used[resource] ?? "0"] as const) : [];
  return { name, status, granted, used: Object.fromEntries(counted) };
}
