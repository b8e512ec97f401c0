import { cidrContainsAddress, firstAddress } from "../api/cidr.js";
import { ENCAPSULATION_PORT, LINK_PREFIX, disjointRanges, setText, tableText } from "../net/index.js";
import { CONNECTION_CHECK_PORT, PATH_PROBE_PORT } from "./constants.js";
import type { GatewayState, RangePair } from "./state.js";

const NODES = `"${LINK_PREFIX}*"`;

/**
 * All nftables rules of a gateway (network specification, §§1, 10, 11, 15): translation of the peer's ranges towards this
 * cluster, of this cluster's other sources towards the peer, of lent addresses, and the guard of the tunnel. The table is
 * the only one in the pod's network namespace.
 */
export function gatewayRuleset(state: GatewayState): string {
  return tableText([
    ...counters(),
    ...guard(state),
    ...chain("input", "filter", "input", "filter", "accept", inputRules(state)),
    ...chain("forwarding", "filter", "forward", "filter", "drop", forwardRules(state)),
    ...chain("destinations", "nat", "prerouting", "dstnat", "accept", destinationRules(state)),
    ...chain("sources", "nat", "postrouting", "srcnat", "accept", sourceRules(state)),
  ]);
}

function chain(name: string, type: string, hook: string, priority: string, policy: string, rules: string[]): string[] {
  return [
    `chain ${name} {`,
    `  type ${type} hook ${hook} priority ${priority}; policy ${policy};`,
    ...rules.map((rule) => `  ${rule}`),
    "}",
  ];
}

/** Counts WireGuard's handshake requests: those of a peer with the wrong keys are seen by nothing else. */
export const HANDSHAKE_COUNTER = "handshake-requests";

/** What the guard refused, for metrics and for people: a peer that sends what it must not, and a pod that sends by a node's link. */
export const DROP_COUNTERS = ["foreign-source", "foreign-destination", "gateway-access", "link-access"] as const;

function counters(): string[] {
  return [...DROP_COUNTERS, HANDSHAKE_COUNTER].map((name) => `counter ${name} { }`);
}

/** Before any translation: what the peer may send is from its own ranges, to this cluster's pods and lent addresses. */
function guard(state: GatewayState): string[] {
  const { tunnel, local, remote } = state;
  const sources = disjointRanges([...remote.pods, ...remote.external].map(({ real }) => real));
  const destinations = disjointRanges([...local.pods, ...local.external]);
  return chain("guard", "filter", "prerouting", "mangle", "accept", [
    ...linkGuard(state),
    `iifname != "${tunnel.device}" accept`,
    `ip saddr ${tunnel.peerAddress} ip daddr ${tunnel.address} accept`,
    `${unless("saddr", sources)}counter name "foreign-source" drop`,
    `${unless("daddr", destinations)}counter name "foreign-destination" drop`,
  ]);
}

/**
 * Encapsulated packets ask nobody who they are: those that a pod has sent are no node's. Only among the pods' addresses is anybody refused, as a node's others may be
 * any, and come anew.
 */
function linkGuard({ local, linkSources }: GatewayState): string[] {
  const pods = disjointRanges(local.pods);
  if (linkSources === undefined || pods.length === 0) return [];
  const nodes = linkSources.filter((address) => isPodAddress({ local }, address));
  const others = nodes.length > 0 ? ` ip saddr != ${setText(nodes)}` : "";
  const sent = `iifname != "liqo*" udp dport ${ENCAPSULATION_PORT} ip saddr ${setText(pods)}${others}`;
  return [`${sent} counter name "link-access" drop`];
}

function unless(field: "saddr" | "daddr", ranges: string[]): string {
  return ranges.length > 0 ? `ip ${field} != ${setText(ranges)} ` : "";
}

/** The peer reaches nothing of the gateway itself but the connection check and echo. */
function inputRules({ tunnel }: GatewayState): string[] {
  const fromPeer = `iifname "${tunnel.device}" ip saddr ${tunnel.peerAddress} ip daddr ${tunnel.address}`;
  return [
    `${fromPeer} udp dport ${setText([String(CONNECTION_CHECK_PORT), String(PATH_PROBE_PORT)])} accept`,
    // Answers to this side's own probes.
    `${fromPeer} udp sport ${PATH_PROBE_PORT} accept`,
    `${fromPeer} icmp type { echo-request, echo-reply, destination-unreachable, time-exceeded } accept`,
    `iifname "${tunnel.device}" counter name "gateway-access" drop`,
    ...(tunnel.listenPort === undefined ? [] : [handshakeRule(tunnel.listenPort)]),
  ];
}

/** A handshake request's first four bytes are 1, 0, 0, 0. */
function handshakeRule(port: number): string {
  return `udp dport ${port} @th,64,32 0x01000000 counter name "${HANDSHAKE_COUNTER}"`;
}

function forwardRules({ tunnel }: GatewayState): string[] {
  return [
    // Both ways, so that it suffices if one side does it.
    "tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu",
    `iifname ${NODES} oifname "${tunnel.device}" accept`,
    `iifname "${tunnel.device}" oifname ${NODES} accept`,
  ];
}

function destinationRules({ tunnel, remote, mappings }: GatewayState): string[] {
  const toPeer = [...remote.pods, ...remote.external]
    .filter(isTranslated)
    .map(({ real, mapped }) => `iifname ${NODES} ip daddr ${mapped} dnat ip prefix to ${real}`);
  if (mappings.length === 0) return toPeer;
  const pairs = mappings.map(({ lent, target }) => `${lent} : ${target}`);
  return [...toPeer, `iifname "${tunnel.device}" dnat to ip daddr map ${setText(pairs)}`];
}

function sourceRules({ tunnel, local, remote }: GatewayState): string[] {
  const fromPeer = [...remote.pods, ...remote.external]
    .filter(isTranslated)
    .map(({ real, mapped }) => `iifname "${tunnel.device}" ip saddr ${real} snat ip prefix to ${mapped}`);
  const external = local.external[0];
  if (external === undefined) return fromPeer;
  // Nodes' own traffic arrives from their link addresses: it leaves from the unknown source address, told apart by port.
  const unknown = `${unless("saddr", disjointRanges(local.pods))}snat to ${firstAddress(external)}`;
  return [...fromPeer, `iifname ${NODES} oifname "${tunnel.device}" ${unknown}`];
}

function isTranslated({ real, mapped }: RangePair): boolean {
  return real !== mapped;
}

/** Whether packets to an address find their way by the pods' ranges. */
export function isPodAddress({ local }: Pick<GatewayState, "local">, address: string): boolean {
  return local.pods.some((range) => cidrContainsAddress(range, address));
}
