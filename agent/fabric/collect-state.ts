import {
  normalizeCidrs,
  type GeneveTunnel,
  isLent,
  type IP,
  type InternalFabric,
  type InternalNode,
  type Network,
} from "../api/index.js";
import type { FabricLink, FabricState } from "./state.js";

/** The custom resources that concern one node. */
export interface FabricObjects {
  internalNode?: InternalNode;
  fabrics: readonly InternalFabric[];
  /** Of this node. */
  tunnels: readonly GeneveTunnel[];
  /** The cluster's own pod ranges. */
  podNetworks: readonly Network[];
  ips: readonly IP[];
}

const DEFAULT_MTU = 1340;

/** What the node must do. Undefined when there is nothing: then nothing of ours must be left on it. */
export function collectFabricState(objects: FabricObjects): FabricState | undefined {
  const linkAddress = objects.internalNode?.spec.interface.node.ip;
  const links = objects.fabrics.flatMap((fabric) => linkOf(fabric, objects.tunnels));
  if (linkAddress === undefined || links.length === 0) return undefined;
  return {
    linkAddress,
    localAddress: objects.internalNode?.status?.nodeIP?.local,
    pods: objects.podNetworks.flatMap(({ status }) => normalizeCidrs(status?.cidr)).sort(),
    links: links.sort((a, b) => a.device.localeCompare(b.device)),
    lentTargets: [...new Set(objects.ips.filter(isLent).map(({ spec }) => spec.ip))].sort(),
    masqueraded: objects.ips
      .flatMap(({ metadata, spec, status }) =>
        spec.masquerade && status?.ip && !metadata.deletionTimestamp ? [{ lent: status.ip, target: spec.ip }] : [],
      )
      .sort((a, b) => a.lent.localeCompare(b.lent)),
  };
}

function linkOf({ metadata, spec }: InternalFabric, tunnels: readonly GeneveTunnel[]): FabricLink[] {
  const tunnel = tunnels.find(
    (candidate) =>
      candidate.metadata.namespace === metadata.namespace && candidate.spec.internalFabricRef.name === metadata.name,
  );
  if (!tunnel || metadata.deletionTimestamp) return [];
  return [
    {
      device: spec.interface.node.name,
      id: tunnel.spec.id,
      gateway: spec.gatewayIP,
      gatewayLinkAddress: spec.interface.gateway.ip,
      mtu: spec.mtu || DEFAULT_MTU,
      remoteRanges: normalizeCidrs(spec.remoteCIDRs),
    },
  ];
}
