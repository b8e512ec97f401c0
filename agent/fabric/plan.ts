import { canonicalCidr } from "../api/cidr.js";
import { LINK_PREFIX, disjointRanges, setText, tableText, type RoutingPlan, type VxlanLink } from "../net/index.js";
import type { FabricState } from "./state.js";

/**
 * The node's table of routes to remote ranges. Its rule stands before the tables of CNIs that install rules of their own
 * (AWS VPC: from 512); the table holds nothing but remote ranges, so that all else passes on.
 */
export const FABRIC = { table: 27_753, priority: 480 } as const;

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

/** Remote ranges lead to their gateways; the node itself sends from its link address, which the gateway knows. */
export function fabricRouting({ linkAddress, links }: FabricState): RoutingPlan {
  const routes = links.flatMap((link) =>
    link.remoteRanges.map((range) => ({
      destination: canonicalCidr(range),
      via: link.gatewayLinkAddress,
      device: link.device,
      source: linkAddress,
    })),
  );
  return { rules: links.length > 0 ? [FABRIC] : [], tables: [{ id: FABRIC.table, routes }] };
}

/**
 * The node's nftables rules (network specification, §§10, 15). The chain stands just before those of kube-proxy and CNIs:
 * the first decision on a connection's source is final.
 */
export function fabricRuleset(state: FabricState): string {
  const pods = disjointRanges(state.pods);
  return tableText([
    "chain destinations {",
    "  type nat hook prerouting priority dstnat; policy accept;",
    ...state.masqueraded.map(({ lent, target }) => `  ip daddr ${lent} dnat to ${target}`),
    "}",
    "chain sources {",
    "  type nat hook postrouting priority srcnat - 1; policy accept;",
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

function masqueradeRules({ masqueraded }: FabricState): string[] {
  if (masqueraded.length === 0) return [];
  const unique = (addresses: string[]): string => setText([...new Set(addresses)]);
  return [
    `  iifname ${LINKS} ip daddr ${unique(masqueraded.map(({ target }) => target))} masquerade`,
    `  ct original ip daddr ${unique(masqueraded.map(({ lent }) => lent))} masquerade`,
  ];
}
