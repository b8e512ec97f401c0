/** What a node must do for all gateways of the cluster, drawn from the custom resources. */
export interface FabricState {
  /** The node's address on all its links (InternalNode). */
  linkAddress: string;
  /** The node's own address towards pods on itself (InternalNode's status). */
  localAddress?: string;
  /** The cluster's pod ranges. */
  pods: string[];
  links: FabricLink[];
  /** What peers may reach besides pods: the things that addresses of this cluster are lent to (IP resources). */
  lentTargets: string[];
  /** Addresses lent to hosts that could not answer unless nodes masquerade (IP resources with `masquerade`). */
  masqueraded: { lent: string; target: string }[];
}

/** One gateway. */
export interface FabricLink {
  /** The link's name on every node (InternalFabric). */
  device: string;
  /** GeneveTunnel. */
  id: number;
  /** The gateway pod's address, and its address on the link. */
  gateway: string;
  gatewayLinkAddress: string;
  mtu: number;
  /** The remote cluster's ranges as this cluster knows them. */
  remoteRanges: string[];
}
