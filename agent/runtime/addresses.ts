import { isIPv4, isIPv6 } from "node:net";
import type { Node, PodStatus } from "kubernetes-types/core/v1";

/** As Liqo prefers them where others are to find a node (network specification, §5.4; control plane specification, §4). */
const OUTSIDE = ["ExternalDNS", "ExternalIP", "InternalDNS", "InternalIP", "Hostname"];

/** Where a node is found from outside its cluster; of addresses of both families by the IPv4 one, as links carry that. */
export function outsideAddress({ status }: Node): string | undefined {
  const addresses = (status?.addresses ?? []).filter(({ address }) => address !== "");
  const ofType = OUTSIDE.map((type) => addresses.filter((address) => address.type === type)).find(
    (found) => found.length > 0,
  );
  return (ofType?.find(({ address }) => !isIPv6(address)) ?? ofType?.[0])?.address;
}

/** A node's addresses towards pods and other nodes, IPv4. */
export function insideAddresses({ status }: Node): string[] {
  return (status?.addresses ?? [])
    .filter(({ type, address }) => type === "InternalIP" && isIPv4(address))
    .map(({ address }) => address);
}

/** Of a pod with addresses of both families the first may be either. */
export function podIPv4({ podIP, podIPs = [] }: PodStatus = {}): string | undefined {
  return [podIP, ...podIPs.map(({ ip }) => ip)].find((address) => address !== undefined && isIPv4(address));
}

/** As it is written into a URL (RFC 3986, §3.2.2). */
export function urlHost(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
