/** What a gateway must do, drawn from the custom resources; plan.ts turns it into links, routes and rules. */
export interface GatewayState {
  tunnel: TunnelState;
  /** This cluster's ranges, as it announced them to the peer. */
  local: { pods: string[]; external: string[] };
  /** The peer's ranges: as the peer knows them, and as this cluster does. Empty until the Configuration is complete. */
  remote: { pods: RangePair[]; external: RangePair[] };
  /** This gateway's address on the links to the nodes; undefined until the InternalFabric is there. */
  linkAddress?: string;
  /** Nodes that have a link to this gateway. */
  nodes: NodeState[];
  /** The addresses that nodes have, by which they send on links; undefined while those of some are not known: nobody is refused then. */
  linkSources?: string[];
  /** Addresses lent to things of this cluster (IP resources): what the peer sends to, and what it stands for. */
  mappings: Mapping[];
}

export interface TunnelState {
  device: string;
  /** 169.254.18.1 on a server, .2 on a client. */
  address: string;
  peerAddress: string;
  mtu: number;
  /** Servers only: the UDP port. */
  listenPort?: number;
}

export interface RangePair {
  real: string;
  mapped: string;
}

export interface Mapping {
  lent: string;
  target: string;
}

export interface NodeState {
  name: string;
  /** The link's name in this gateway, its identifier, and the node's address on it. */
  device: string;
  /** The direct link's, once packets pass by it. */
  direct?: string;
  id: number;
  linkAddress: string;
  /** Where the node's end of the link is reached. */
  underlay: string;
  /** The ranges (or single addresses) of the pods on the node. */
  pods: string[];
  /** Whether this gateway runs there. */
  isOwn: boolean;
}
