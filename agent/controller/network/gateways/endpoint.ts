import type { Node, Pod, Service } from "kubernetes-types/core/v1";
import type { EndpointStatus, InternalEndpoint } from "../../../api/index.js";
import { outsideAddress, podIPv4 } from "../../../runtime/index.js";

/**
 * Where clients reach a gateway server (network specification, §5.4). For a NodePort the node of the active pod comes first,
 * then the other ready nodes, which answer too. Undefined until there is an address.
 */
export function gatewayEndpoint(
  service: Service | undefined,
  activePod: Pod | undefined,
  nodes: readonly Node[],
): EndpointStatus | undefined {
  const port = service?.spec?.ports?.[0];
  if (!service || !port) return undefined;
  const isNodePort = service.spec?.type === "NodePort";
  const addresses = addressesOf(service, activePod, nodes).filter((address) => address !== "" && address !== "None");
  const number = isNodePort ? port.nodePort : port.port;
  if (addresses.length === 0 || !number) return undefined;
  return { addresses, port: number, protocol: "UDP" };
}

function addressesOf(service: Service, activePod: Pod | undefined, nodes: readonly Node[]): string[] {
  const { type, clusterIPs, clusterIP = "", externalTrafficPolicy } = service.spec ?? {};
  if (type === "LoadBalancer") {
    return (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip = "", hostname = "" }) => [ip || hostname]);
  }
  if (type !== "NodePort") return clusterIPs ?? [clusterIP];
  const first = nodes.filter(({ metadata }) => metadata?.name === activePod?.spec?.nodeName);
  // Until the pod runs nobody knows which node it will be.
  if (first.length === 0) return [];
  const others = externalTrafficPolicy === "Local" ? [] : nodes.filter((node) => !first.includes(node)).sort(byName);
  return [...first, ...others].filter(isReady).map((node) => outsideAddress(node) ?? "");
}

function byName(a: Node, b: Node): number {
  return (a.metadata?.name ?? "").localeCompare(b.metadata?.name ?? "");
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

/** The active gateway pod's address and node. */
export function internalEndpointOf(pod: Pod | undefined): InternalEndpoint | undefined {
  const ip = podIPv4(pod?.status);
  return ip ? { ip, node: pod?.spec?.nodeName } : undefined;
}
