import { canonicalCidr } from "../api/cidr.js";
import {
  directLinkName,
  routesByEither,
  type LinkEnd,
  type Route,
  type RoutingPlan,
  type VxlanLink,
} from "../net/index.js";
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

/** The gateway's end of the direct link to the node that it runs on, should that one make it. */
export function gatewayDirectEnd({ tunnel, linkAddress, nodes }: GatewayState): LinkEnd | undefined {
  const own = nodes.find(({ isOwn }) => isOwn);
  if (own === undefined || linkAddress === undefined) return undefined;
  const { id, linkAddress: peerAddress } = own;
  return { name: directLinkName(id), id, mtu: tunnel.mtu, side: "gateway", address: linkAddress, peerAddress };
}

/** The state once it is known whether packets pass by the direct link. */
export function withDirectLink(state: GatewayState, direct: string | undefined): GatewayState {
  return { ...state, nodes: state.nodes.map((node) => (node.isOwn ? { ...node, direct } : node)) };
}

/**
 * Routes keyed on the incoming device (network specification, §10), so that both clusters may use equal ranges: towards the
 * peer only from nodes, towards this cluster only from the tunnel. What has no route is refused, never sent elsewhere.
 */
export function gatewayRouting(state: GatewayState): RoutingPlan {
  const nodes = state.linkAddress === undefined ? [] : state.nodes;
  // By name, also before it is there: the node may use the direct link from the moment that this side has brought it up.
  const incoming = nodes.flatMap(({ device, id, isOwn }) => (isOwn ? [device, directLinkName(id)] : [device]));
  return {
    rules: [
      { priority: FROM_TUNNEL.priority, table: FROM_TUNNEL.table, incoming: state.tunnel.device },
      ...incoming.map((device) => ({ priority: TO_TUNNEL.priority, table: TO_TUNNEL.table, incoming: device })),
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
    ...nodes.flatMap((node) => ways(node, { destination: node.linkAddress })),
    ...nodes.flatMap((node) => node.pods.flatMap((range) => via(node, range))),
    // Anything but a pod is reached as the gateway's own node reaches it.
    ...(own
      ? state.mappings.filter(({ target }) => !isPodAddress(state, target)).flatMap(({ target }) => via(own, target))
      : []),
  ];
}

function via(node: NodeState, range: string): Route[] {
  const destination = range.includes("/") ? canonicalCidr(range) : range;
  return ways(node, { destination, via: node.linkAddress });
}

function ways({ device, direct }: NodeState, route: Route): Route[] {
  return routesByEither(route, device, direct);
}

function routesToPeer({ tunnel, remote }: GatewayState): Route[] {
  return [...remote.pods, ...remote.external].map(({ real }) => ({
    destination: canonicalCidr(real),
    via: tunnel.peerAddress,
    device: tunnel.device,
  }));
}
