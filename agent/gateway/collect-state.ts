import type { Node } from "kubernetes-types/core/v1";
import {
  cidrContainsAddress,
  isCidr,
  isLent,
  normalizeCidrs,
  rangePairsOf,
  type Configuration,
  type GeneveTunnel,
  type IP,
  type InternalFabric,
  type InternalNode,
} from "../api/index.js";
import type { GatewayArguments } from "./arguments.js";
import { CLIENT_ADDRESS, SERVER_ADDRESS, TUNNEL_DEVICE } from "./constants.js";
import type { GatewayState, Mapping, NodeState, RangePair, TunnelState } from "./state.js";

/** The custom resources that concern one gateway. */
export interface GatewayObjects {
  configuration?: Configuration;
  fabric?: InternalFabric;
  tunnels: readonly GeneveTunnel[];
  internalNodes: readonly InternalNode[];
  nodes: readonly Node[];
  ips: readonly IP[];
  /** Whether the CNI gives pods other addresses than those of their nodes' ranges. */
  ignoresPodRanges?: boolean;
  /** Pod addresses by node, for nodes whose pods no range tells. */
  podAddresses: (nodeName: string) => string[];
}

export function tunnelState({
  mode,
  mtu,
  listenPort,
}: Pick<GatewayArguments, "mode" | "mtu" | "listenPort">): TunnelState {
  const [address, peerAddress] =
    mode === "server" ? [SERVER_ADDRESS, CLIENT_ADDRESS] : [CLIENT_ADDRESS, SERVER_ADDRESS];
  const port = mode === "server" ? { listenPort } : {};
  return { device: TUNNEL_DEVICE, address, peerAddress, mtu, ...port };
}

/** What the gateway must do, from what there is. Parts that are not known yet are empty: nothing passes there. */
export function collectState(args: GatewayArguments, objects: GatewayObjects): GatewayState {
  const { configuration, fabric } = objects;
  const local = {
    pods: normalizeCidrs(configuration?.spec.local?.cidr?.pod),
    external: normalizeCidrs(configuration?.spec.local?.cidr?.external),
  };
  return {
    tunnel: tunnelState(args),
    local,
    remote: { pods: pairs(configuration, "pod"), external: pairs(configuration, "external") },
    linkAddress: fabric?.spec.interface.gateway.ip,
    nodes: fabric ? nodeStates(args, objects) : [],
    linkSources: fabric && linkSources(objects),
    mappings: lentAddresses(objects),
  };
}

/** Of all nodes that have a link: a fabric that is older, or has yet to start, tells none. */
function linkSources({ tunnels, internalNodes }: GatewayObjects): string[] | undefined {
  const byNode = tunnels.map(({ spec }) => {
    const node = internalNodes.find(({ metadata }) => metadata.name === spec.internalNodeRef.name);
    return node?.status?.addresses ?? [];
  });
  if (byNode.length === 0 || byNode.some((addresses) => addresses.length === 0)) return undefined;
  return [...new Set(byNode.flat())].sort();
}

function pairs(configuration: Configuration | undefined, type: "pod" | "external"): RangePair[] {
  if (!configuration) return [];
  return rangePairsOf(configuration, type).map(([real, mapped]) => ({ real, mapped }));
}

function nodeStates({ nodeName }: GatewayArguments, objects: GatewayObjects): NodeState[] {
  return objects.tunnels
    .flatMap((tunnel) => {
      const name = tunnel.spec.internalNodeRef.name ?? "";
      const internalNode = objects.internalNodes.find(({ metadata }) => metadata.name === name);
      const node = objects.nodes.find(({ metadata }) => metadata?.name === name);
      const isOwn = name === nodeName;
      const { local, remote } = internalNode?.status?.nodeIP ?? {};
      const underlay = isOwn ? local : remote;
      if (!internalNode || !underlay) return [];
      return [
        {
          name,
          device: internalNode.spec.interface.gateway.name,
          id: tunnel.spec.id,
          linkAddress: internalNode.spec.interface.node.ip,
          underlay,
          pods: (objects.ignoresPodRanges ? undefined : podRanges(node)) ?? objects.podAddresses(name),
          isOwn,
        },
      ];
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** The node's IPv4 pod ranges; undefined when it has none. */
export function podRanges(node: Node | undefined): string[] | undefined {
  const { podCIDRs, podCIDR } = node?.spec ?? {};
  const ranges = (podCIDRs ?? (podCIDR ? [podCIDR] : [])).filter(isCidr);
  return ranges.length > 0 ? ranges : undefined;
}

/**
 * Whether the CNI gives pods other addresses than those of their nodes' ranges, as Calico's own IPAM and Cilium's cluster pool do while the controller manager
 * gives nodes ranges all the same: the gateway's own pod, on its node, shows it for the whole cluster, if not by chance. Undefined while nothing shows it. A gateway in its node's own
 * network has the node's addresses, of which a bridge's is in the range; where none is, it costs a route for each pod, which leads there with any CNI.
 */
export function ignoresPodRanges(ownNode: Node | undefined, ownAddresses: readonly string[]): boolean | undefined {
  if (!ownNode || ownAddresses.length === 0) return undefined;
  const ranges = podRanges(ownNode) ?? [];
  return !ownAddresses.some((address) => ranges.some((range) => cidrContainsAddress(range, address)));
}

/** Addresses lent from the external range; those that nodes must not use are addresses only. */
export function lentAddresses({ configuration, ips }: Pick<GatewayObjects, "configuration" | "ips">): Mapping[] {
  const external = normalizeCidrs(configuration?.spec.local?.cidr?.external);
  const byLent = new Map(
    ips.filter(isLent).flatMap(({ spec, status }) => {
      const lent = status?.ip ?? "";
      return external.some((range) => cidrContainsAddress(range, lent)) ? [[lent, spec.ip] as const] : [];
    }),
  );
  return [...byLent].map(([lent, target]) => ({ lent, target })).sort((a, b) => a.lent.localeCompare(b.lent));
}
