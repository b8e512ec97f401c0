import { topologySvg } from "../cli/topology/svg.js";
import type { Topology, TopologyPeering } from "../provider/functions/topology/schema.js";

/** What `pulumi-liqo topology` would say of three clusters; names and amounts are made up. */
const TOPOLOGY: Topology = {
  clusters: [
    cluster("west", ["10.244.0.0/16"]),
    cluster("east", ["10.244.0.0/16"]),
    cluster("north", ["10.50.0.0/16"]),
  ],
  links: [
    { clusters: ["east", "west"], status: "Healthy", server: "east", roundTripMilliseconds: 11.4 },
    { clusters: ["north", "west"], status: "Healthy", server: "north", roundTripMilliseconds: 27.9 },
  ],
  peerings: [
    peering("west", "east", { cpu: "8", memory: "16Gi", pods: "110" }, { cpu: "5", memory: "6Gi", pods: "31" }),
    peering("west", "north", { cpu: "4", memory: "8Gi", pods: "50" }, { cpu: "500m", memory: "1Gi", pods: "4" }),
    peering("east", "west", { cpu: "2", memory: "4Gi", pods: "20" }, { cpu: "1", memory: "3Gi", pods: "6" }),
  ],
};

/** The picture of the README: what the command line draws, in colours that follow the reader's system. */
export function picture(): string {
  return topologySvg(TOPOLOGY, "auto");
}

function cluster(clusterID: string, podCIDRs: string[]): Topology["clusters"][number] {
  return { clusterID, asked: true, healthy: true, version: "0.1.0", podCIDRs };
}

function peering(
  consumer: string,
  provider: string,
  granted: Record<string, string>,
  used: Record<string, string>,
): TopologyPeering {
  return {
    consumer,
    provider,
    authenticationStatus: "Healthy",
    offloadingStatus: "Healthy",
    virtualNodes: [{ name: provider, status: "Healthy", granted, used }],
  };
}
