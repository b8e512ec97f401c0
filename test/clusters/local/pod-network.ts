import { addressIn } from "../spec.js";
import { inNetns } from "./netns.js";
import type { ClusterRecord, NodeRecord } from "./record.js";

/** The part of a CNI that joins the pods of several nodes, in three kinds as they are met in the field. */
export const POD_BRIDGE = "cni0";
const OVERLAY = { device: "overlay0", id: 1, port: 8472, overhead: 50 } as const;
const NODE_MTU = 1500;

/** What pods may send at most. */
export function podMTU({ spec }: ClusterRecord): number {
  return spec.cni === "vxlan" ? NODE_MTU - OVERLAY.overhead : NODE_MTU;
}

/** Makes sure of the ways from one node's pods to those of others, and of the masquerading of what leaves the cluster. */
export async function connectPods(record: ClusterRecord, node: NodeRecord): Promise<void> {
  const others = record.nodes.filter(({ name }) => name !== node.name);
  if (record.spec.cni === "vxlan") await ensureOverlay(record, node, others);
  else {
    for (const { podCIDR, address } of others)
      await inNetns(node.name, "ip", ["route", "replace", podCIDR, "via", address]);
  }
  await inNetns(node.name, "nft", ["-f", "-"], masquerading(record, node));
}

/** As flannel does it: all neighbours are known beforehand, and the device has the first address of its node's range. */
async function ensureOverlay(record: ClusterRecord, node: NodeRecord, others: readonly NodeRecord[]): Promise<void> {
  const { device, id, port } = OVERLAY;
  const links = JSON.parse(await inNetns(node.name, "ip", ["-j", "link", "show"])) as { ifname: string }[];
  const create =
    `link add ${device} address ${hardwareAddress(node)} mtu ${podMTU(record)} ` +
    `type vxlan id ${id} local ${node.address} dstport ${port} nolearning`;
  const own = [
    ...(links.some(({ ifname }) => ifname === device) ? [] : [create]),
    `address replace ${gatewayOf(node)}/32 dev ${device}`,
    `link set ${device} up`,
  ];
  const ways = others.flatMap((other) => [
    `neighbour replace ${gatewayOf(other)} lladdr ${hardwareAddress(other)} dev ${device} nud permanent`,
    `route replace ${other.podCIDR} via ${gatewayOf(other)} dev ${device} onlink`,
  ]);
  const where = others.map((other) => `fdb replace ${hardwareAddress(other)} dev ${device} dst ${other.address}`);
  await inNetns(node.name, "ip", ["-batch", "-"], [...own, ...ways, ""].join("\n"));
  await inNetns(node.name, "bridge", ["-batch", "-"], [...where, ""].join("\n"));
}

const gatewayOf = ({ podCIDR }: NodeRecord): string => addressIn(podCIDR, 0);

/** Locally administered, told apart by the node's address. */
function hardwareAddress({ address }: NodeRecord): string {
  const octets = address.split(".").map((octet) => Number(octet).toString(16).padStart(2, "0"));
  return ["02", "70", ...octets].join(":");
}

/**
 * What ordinary CNIs do: pods appear with their node's address outside the cluster's pod network. Some do it wherever a packet
 * leaves the node.
 */
function masquerading({ spec }: ClusterRecord, { podCIDR }: NodeRecord): string {
  const inside = spec.cni === "masquerade" ? podCIDR : spec.podCIDR;
  return `table ip plq-cni
delete table ip plq-cni
table ip plq-cni {
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${podCIDR} ip daddr != { ${inside}, 224.0.0.0/4 } oifname != "${POD_BRIDGE}" masquerade
  }
}
`;
}
