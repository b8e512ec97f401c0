import type { Service, ServicePort } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";

/** The nftables table by which a node without kube-proxy implements Services, replaced in one transaction. */
export function serviceRules(services: readonly Service[], slices: readonly EndpointSlice[], podCIDR: string): string {
  const rules = services.flatMap((service) => rulesOf(service, slices)).sort();
  const nodePorts = services.flatMap((service) => nodePortRules(service, slices)).sort();
  return `table ip plq-services
delete table ip plq-services
table ip plq-services {
  chain services {
    ${rules.join("\n    ")}
  }
  chain node-ports {
    ${nodePorts.join("\n    ")}
  }
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    jump services
    fib daddr type local jump node-ports
  }
  chain output {
    type nat hook output priority -100; policy accept;
    jump services
    fib daddr type local jump node-ports
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ct status dnat ip saddr != ${podCIDR} masquerade
    ${toItself(slices)}
  }
}
`;
}

function rulesOf(service: Service, slices: readonly EndpointSlice[]): string[] {
  const { clusterIPs = [], externalIPs = [], ports = [] } = service.spec ?? {};
  const lent = service.status?.loadBalancer?.ingress?.flatMap(({ ip }) => ip ?? []) ?? [];
  const addresses = [...new Set([...clusterIPs, ...externalIPs, ...lent])].filter((address) => address.includes("."));
  return ports.flatMap((port) =>
    addresses.map(
      (address) => `ip daddr ${address} ${protocolOf(port)} dport ${port.port} ${target(service, port, slices)}`,
    ),
  );
}

function nodePortRules(service: Service, slices: readonly EndpointSlice[]): string[] {
  return (service.spec?.ports ?? []).flatMap((port) =>
    port.nodePort ? [`${protocolOf(port)} dport ${port.nodePort} ${target(service, port, slices)}`] : [],
  );
}

/** A pod that asks itself through a Service would otherwise answer itself directly. */
function toItself(slices: readonly EndpointSlice[]): string {
  const all = slices.filter(({ addressType }) => addressType === "IPv4").flatMap(({ endpoints }) => endpoints ?? []);
  const pairs = [...new Set(all.flatMap(({ addresses }) => addresses))].sort().map((one) => `${one} . ${one}`);
  return pairs.length > 0 ? `ct status dnat ip saddr . ip daddr { ${pairs.join(", ")} } masquerade` : "";
}

const protocolOf = ({ protocol }: ServicePort): string => (protocol ?? "TCP").toLowerCase();

/** One of the ready endpoints, or a refusal. */
function target({ metadata }: Service, port: ServicePort, slices: readonly EndpointSlice[]): string {
  const endpoints = slices
    .filter(
      (slice) =>
        slice.addressType === "IPv4" &&
        slice.metadata?.namespace === metadata?.namespace &&
        slice.metadata?.labels?.["kubernetes.io/service-name"] === metadata?.name,
    )
    .flatMap((slice) => {
      const number = slice.ports?.find(({ name }) => (name ?? "") === (port.name ?? ""))?.port;
      const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      return number ? ready.flatMap(({ addresses }) => addresses.map((address) => `${address} . ${number}`)) : [];
    })
    .sort();
  if (endpoints.length === 0) return "drop";
  const choices = endpoints.map((endpoint, index) => `${index} : ${endpoint}`);
  return `dnat ip to numgen random mod ${endpoints.length} map { ${choices.join(", ")} }`;
}
