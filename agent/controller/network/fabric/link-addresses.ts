import {
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  NetworkResource,
  NetworkType,
  cidrContainsAddress,
} from "../../../api/index.js";
import type { KubeClient } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { chooseAddress } from "../addresses/allocation.js";
import { installed } from "../addresses/owned-ranges.js";

/**
 * A free address of the internal range, for one end of a link (network specification, §8). The objects that hold addresses are
 * listed anew; the caller holds the lock until its own is written. Undefined while there is no internal range.
 */
export async function freeLinkAddress({ client, informers, config }: ControllerContext): Promise<string | undefined> {
  const network = installed(informers.for(NetworkResource), config.namespace, NetworkType.internal)[0];
  const cidr = network?.status?.cidr;
  if (!cidr) return undefined;
  const [links, ips] = await Promise.all([linkAddresses(client), client.list(IPResource)]);
  const taken = new Set([
    ...links,
    ...ips.items.flatMap(({ status }) => (status?.ip && cidrContainsAddress(cidr, status.ip) ? [status.ip] : [])),
  ]);
  // The network address itself is left out, as some tools refuse it.
  return chooseAddress(cidr, Math.max(1, network.spec.preAllocated ?? 0), taken);
}

/** The addresses that links' ends have, listed anew. */
export async function linkAddresses(client: KubeClient): Promise<string[]> {
  const [nodes, fabrics] = await Promise.all([client.list(InternalNodeResource), client.list(InternalFabricResource)]);
  return [
    ...nodes.items.map(({ spec }) => spec.interface.node.ip),
    ...fabrics.items.map(({ spec }) => spec.interface.gateway.ip),
  ];
}
