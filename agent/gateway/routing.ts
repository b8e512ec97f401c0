import { canonicalCidr } from "../api/cidr.js";
import type { Route, RoutingPlan, VxlanLink } from "../net/index.js";
import { FROM_TUNNEL, TO_TUNNEL } from "./constants.js";
import { isPodAddress } from "./ruleset.js";
import type { GatewayState, NodeState } from "./state.js";

/** The links to the nodes (network specification, §8). */
export function gatewayLinks({ tunnel, linkAddress, nodes }: GatewayState): VxlanLink[] {
  if (linkAddress === undefined) return [];
  return nodes.map((node) => ({
    name: node.device,
    id: node.id,
    remote: node.underlay,
    mtu: tunnel.mtu,
    side: "gateway",
    address: linkAddress,
    peerAddress: node.linkAddress,
  }));
}

/**
 * Routes keyed on the incoming device (network specification, §10), so that both clusters may use equal ranges: towards the
 * peer only from nodes, towards this cluster only from the tunnel. What has no route is refused, never sent elsewhere.
 */
export function gatewayRouting(state: GatewayState): RoutingPlan {
  const nodes = state.linkAddress === undefined ? [] : state.nodes;
  return {
    rules: [
      { priority: FROM_TUNNEL.priority, table: FROM_TUNNEL.table, incoming: state.tunnel.device },
      ...nodes.map(({ device }) => ({ priority: TO_TUNNEL.priority, table: TO_TUNNEL.table, incoming: device })),
    ],
    tables: [
      { id: FROM_TUNNEL.table, routes: [...routesToCluster(state, nodes), REFUSE] },
      { id: TO_TUNNEL.table, routes: [...routesToPeer(state), REFUSE] },
    ],
  };
}

const REFUSE: Route = { destination: "default", blackhole: true };

function routesToCluster(state: GatewayState, nodes: NodeState[]): Route[] {
  const own = nodes.find(({ isOwn }) => isOwn) ?? nodes[0];
  return [
    ...nodes.map(({ linkAddress, device }) => ({ destination: linkAddress, device })),
    ...nodes.flatMap((node) => node.pods.map((range) => via(node, range))),
    // Anything but a pod is reached as the gateway's own node reaches it.
    ...(own
      ? state.mappings.filter(({ target }) => !isPodAddress(state, target)).map(({ target }) => via(own, target))
      : []),
  ];
}

function via({ linkAddress, device }: NodeState, range: string): Route {
  return { destination: range.includes("/") ? canonicalCidr(range) : range, via: linkAddress, device };
}

function routesToPeer({ tunnel, remote }: GatewayState): Route[] {
  return [...remote.pods, ...remote.external].map(({ real }) => ({
    destination: canonicalCidr(real),
    via: tunnel.peerAddress,
    device: tunnel.device,
  }));
}
