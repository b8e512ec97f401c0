import type { Topology, TopologyLink, TopologyPeering } from "../../provider/functions/topology/schema.js";

export type LineStatus = "good" | "bad" | "off";

/** Everything between two clusters. */
export interface Edge {
  /** In the order of the alphabet. */
  clusters: [string, string];
  link?: TopologyLink;
  peerings: TopologyPeering[];
}

/** Pairs of clusters that have anything to do with each other. */
export function edgesOf({ links, peerings }: Topology): Edge[] {
  const edges = new Map<string, Edge>();
  const edge = (a: string, b: string): Edge => {
    const clusters: [string, string] = a < b ? [a, b] : [b, a];
    const present = edges.get(clusters.join("/")) ?? { clusters, peerings: [] };
    edges.set(clusters.join("/"), present);
    return present;
  };
  for (const link of links) edge(link.clusters[0] ?? "", link.clusters[1] ?? "").link = link;
  for (const peering of peerings) edge(peering.consumer, peering.provider).peerings.push(peering);
  return [...edges.values()];
}

/** Red when anything of it is wrong, grey when there is no network. */
export function statusOf({ link, peerings }: Edge): LineStatus {
  const states = peerings.flatMap((peering) => [peering.authenticationStatus, peering.offloadingStatus]);
  if (link?.status === "Unhealthy" || states.includes("Unhealthy")) return "bad";
  return link ? "good" : "off";
}

/** What stands on the line. */
export function labelOf({ link }: Edge): string {
  if (!link) return "no network";
  if (link.roundTripMilliseconds === undefined) return link.status === "Healthy" ? "connected" : "not connected";
  return formatMilliseconds(link.roundTripMilliseconds);
}

export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.max(1, Math.round(milliseconds * 1000))} µs`;
  return milliseconds < 10 ? `${Math.round(milliseconds * 10) / 10} ms` : `${Math.round(milliseconds)} ms`;
}

/** Whether the cluster uses resources of the other one. */
export function usesOther({ peerings }: Edge, cluster: string): boolean {
  return peerings.some(({ consumer }) => consumer === cluster);
}
