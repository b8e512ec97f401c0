import { formatIPv4, parseCidr } from "../api/cidr.js";
import { FAST_TABLE, disjointRanges, setText, tableText } from "../net/index.js";
import { isPodAddress } from "./ruleset.js";
import type { GatewayState, NodeState, RangePair } from "./state.js";

/**
 * The short way of what pods say to pods: it is handed on from the device that it came by to the one that it leaves by, before the kernel looks at routes, connections
 * and rules. Translation of ranges is a function of the address alone (network specification, §15), so nothing has to be remembered. It takes the packets that the
 * long way would let pass just so, and no others: whatever is refused, counted, answered or remembered goes the long way, as do connections' first packets, whose
 * segment size is bounded there. Undefined where there is nothing to hand on.
 */
export function fastPathText(state: GatewayState): string | undefined {
  const { tunnel, local, remote, nodes } = state;
  const [pods, ranges] = [disjointRanges(local.pods), remote.pods];
  const reachable = nodes.filter((node) => node.pods.length > 0);
  if (pods.length === 0 || ranges.length === 0 || reachable.length === 0) return undefined;
  const exceptions = ["ip ttl < 2 accept", "tcp flags & (syn) != 0x0 accept", ...OTHER_PROTOCOLS];
  return tableText(
    [
      ...chain("from-nodes", nodes.flatMap(devicesOf), [
        ...exceptions,
        ...ofLent(state, "saddr"),
        ...ranges.map((range) => toPeer(state, pods, range)),
      ]),
      ...chain(
        "from-peer",
        [tunnel.device],
        [
          ...exceptions,
          ...ofLent(state, "daddr"),
          ...reachable.flatMap((node) => ranges.map((range) => toNode(node, range))),
        ],
      ),
    ],
    FAST_TABLE,
  );
}

/** Messages of errors quote addresses that would have to be translated, too. */
const OTHER_PROTOCOLS = [
  "meta l4proto != { tcp, udp, icmp } accept",
  "icmp type != { echo-request, echo-reply } accept",
];

function chain(name: string, devices: readonly string[], rules: readonly string[]): string[] {
  const names = devices.map((device) => `"${device}"`).join(", ");
  return [
    `chain ${name} {`,
    `  type filter hook ingress devices = { ${names} } priority 0; policy accept;`,
    ...rules.map((rule) => `  ${rule}`),
    "}",
  ];
}

function devicesOf({ device, direct }: NodeState): string[] {
  return direct === undefined ? [device] : [device, direct];
}

/** A pod that an address is lent to answers from that address: only what is remembered tells to whom, and that must have seen all of a connection. */
function ofLent(state: GatewayState, field: "saddr" | "daddr"): string[] {
  const pods = state.mappings.map(({ target }) => target).filter((target) => isPodAddress(state, target));
  return pods.length > 0 ? [`ip ${field} ${setText([...new Set(pods)])} accept`] : [];
}

function toPeer({ tunnel }: GatewayState, pods: readonly string[], { real, mapped }: RangePair): string {
  const translation = real === mapped ? "" : translate("daddr", real);
  const selected = `ip saddr ${setText(pods)} ip daddr ${mapped}`;
  return `${selected} ${translation}fwd ip to ${tunnel.peerAddress} device "${tunnel.device}"`;
}

function toNode({ device, direct = device, linkAddress, pods }: NodeState, { real, mapped }: RangePair): string {
  const translation = real === mapped ? "" : translate("saddr", mapped);
  return `ip saddr ${real} ip daddr ${setText(pods)} ${translation}fwd ip to ${linkAddress} device "${direct}"`;
}

/** Puts another range in an address's front; its host bits stay. */
function translate(field: "saddr" | "daddr", range: string): string {
  const { base, prefix } = parseCidr(range);
  const hostBits = formatIPv4(2 ** (32 - prefix) - 1);
  return `ip ${field} set ip ${field} & ${hostBits} | ${formatIPv4(base)} `;
}
