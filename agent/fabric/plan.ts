import { canonicalCidr } from "../api/cidr.js";
import {
  LINK_PREFIX,
  directLinkName,
  disjointRanges,
  routesByEither,
  setText,
  tableText,
  type DirectLink,
  type PodPort,
  type PortNeighbour,
  type RoutingPlan,
  type VxlanLink,
} from "../net/index.js";
import type { FabricState } from "./state.js";

/**
 * The node's table of routes to remote ranges. Its rule stands before the tables of CNIs that install rules of their own
 * (AWS VPC: from 512); the table holds nothing but remote ranges, so that all else passes on.
 */
export const FABRIC = { table: 27_753, priority: 480 } as const;

/** Where the node's own packets, and no others, find gateways behind a bridge at their ports. */
const AT_PORTS = { table: 27_757, priority: 479 } as const;

/** Routing with nothing of ours. */
export const NO_ROUTING: RoutingPlan = {
  rules: [],
  tables: [FABRIC, AT_PORTS].map(({ table }) => ({ id: table, routes: [] })),
};

const LINKS = `"${LINK_PREFIX}*"`;

/** The links to the gateways (network specification, §8). */
export function fabricLinks({ linkAddress, links }: FabricState): VxlanLink[] {
  return links.map((link) => ({
    name: link.device,
    id: link.id,
    remote: link.gateway,
    mtu: link.mtu,
    side: "node",
    address: linkAddress,
    peerAddress: link.gatewayLinkAddress,
  }));
}

/** Direct links to those gateways that run on the node, by the ports that their pods are behind. */
export function directLinks({ linkAddress, links }: FabricState, ports: readonly PodPort[]): DirectLink[] {
  return links.map(({ id, gateway, gatewayLinkAddress, mtu }) => ({
    name: directLinkName(id),
    id,
    mtu,
    side: "node",
    address: linkAddress,
    peerAddress: gatewayLinkAddress,
    gateway,
    netns: ports.find(({ address }) => address === gateway)?.netns,
  }));
}

/**
 * Remote ranges lead to their gateways, by the direct links where packets pass (the others are left when those go, with their routes); the node itself sends from its link address, which the gateway knows. What is
 * encapsulated goes straight to the ports of gateways behind a bridge.
 */
export function fabricRouting(
  { linkAddress, localAddress, links }: FabricState,
  atPorts: readonly PortNeighbour[] = [],
  passable: readonly string[] = [],
): RoutingPlan {
  const routes = links.flatMap((link) => {
    const direct = passable.find((name) => name === directLinkName(link.id));
    const route = { via: link.gatewayLinkAddress, source: linkAddress };
    return link.remoteRanges.flatMap((range) =>
      routesByEither({ ...route, destination: canonicalCidr(range) }, link.device, direct),
    );
  });
  const direct = atPorts.map(({ address, device }) => ({ destination: address, device, source: localAddress }));
  return {
    rules: [...(direct.length > 0 ? [{ ...AT_PORTS, incoming: "lo" }] : []), ...(links.length > 0 ? [FABRIC] : [])],
    tables: [
      { id: FABRIC.table, routes },
      { id: AT_PORTS.table, routes: direct },
    ],
  };
}

/**
 * The node's nftables rules (network specification, §§10, 15). The chain stands just before those of kube-proxy and CNIs:
 * the first decision on a connection's source is final.
 */
export function fabricRuleset(state: FabricState, atPorts: readonly PortNeighbour[] = []): string {
  const pods = disjointRanges(state.pods);
  return tableText([
    `counter ${NODE_ACCESS_COUNTER} { }`,
    "chain guard {",
    "  type filter hook prerouting priority mangle; policy accept;",
    `  iifname ${LINKS} ct state new fib daddr type local ${unlessLent(state)}counter name ${NODE_ACCESS_COUNTER} drop`,
    ...gatewayGuard(state),
    "}",
    "chain destinations {",
    "  type nat hook prerouting priority dstnat; policy accept;",
    ...state.masqueraded.map(({ lent, target }) => `  ip daddr ${lent} dnat to ${target}`),
    "}",
    "chain sources {",
    "  type nat hook postrouting priority srcnat - 1; policy accept;",
    ...keepOwnAddress(state, atPorts),
    // Pods keep their address: translating a range to itself keeps CNIs from masquerading it.
    ...pods.map((range) => `  oifname ${LINKS} ip saddr ${range} snat ip prefix to ${range}`),
    // Everything else leaves from the node's link address, so that answers find this node.
    `  oifname ${LINKS} snat to ${state.linkAddress}`,
    // A Service was resolved on this node: only here can the answer be turned back.
    `  iifname ${LINKS} ct status dnat masquerade`,
    ...masqueradeRules(state),
    "}",
  ]);
}

/**
 * A node has addresses in the pods' range, too, such as its bridge's: peers may speak to it by none of them, but for what is lent to them. Before any
 * translation, so that no Service leads around it. What the node itself has begun is answered.
 */
const NODE_ACCESS_COUNTER = "node-access";

/**
 * Nor to the gateways, which go by what nodes and their own replicas send them: encapsulated packets ask nobody who they are, and one peer's would pass for
 * another's pods in a third one's tunnel.
 */
function gatewayGuard({ links }: FabricState): string[] {
  if (links.length === 0) return [];
  const gateways = setText([...new Set(links.map(({ gateway }) => gateway))]);
  return [`  iifname ${LINKS} ct state new ip daddr ${gateways} counter name ${NODE_ACCESS_COUNTER} drop`];
}

function unlessLent({ lentTargets }: FabricState): string {
  return lentTargets.length > 0 ? `ip daddr != ${setText(lentTargets)} ` : "";
}

/** CNIs that masquerade what does not leave by their bridge would find no address at a port. */
function keepOwnAddress({ localAddress }: FabricState, atPorts: readonly PortNeighbour[]): string[] {
  if (localAddress === undefined || atPorts.length === 0) return [];
  const gateways = setText(atPorts.map(({ address }) => address));
  return [`  ip saddr ${localAddress} ip daddr ${gateways} snat to ${localAddress}`];
}

function masqueradeRules({ masqueraded }: FabricState): string[] {
  if (masqueraded.length === 0) return [];
  const unique = (addresses: string[]): string => setText([...new Set(addresses)]);
  return [
    `  iifname ${LINKS} ip daddr ${unique(masqueraded.map(({ target }) => target))} masquerade`,
    `  ct original ip daddr ${unique(masqueraded.map(({ lent }) => lent))} masquerade`,
  ];
}
