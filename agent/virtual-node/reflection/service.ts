import type { Service, ServicePort, ServiceSpec } from "kubernetes-types/core/v1";
import { Annotations } from "../../api/index.js";
import { ServiceResource } from "../../runtime/index.js";
import { publishedAddresses, tellAddresses } from "./published-address.js";
import type { ReflectedKind } from "./reflected-kind.js";
import { isReflectable, isSet } from "./reflected-metadata.js";

/** Fields that mean the same in both clusters; addresses and node ports are each cluster's own (offloading specification, §8.3). */
const COPIED = [
  "type",
  "selector",
  "externalName",
  "allocateLoadBalancerNodePorts",
  "externalTrafficPolicy",
  "internalTrafficPolicy",
  "ipFamilyPolicy",
  "loadBalancerSourceRanges",
  "publishNotReadyAddresses",
  "sessionAffinity",
  "sessionAffinityConfig",
  "trafficDistribution",
] as const satisfies readonly (keyof ServiceSpec)[];

export const serviceKind: ReflectedKind<Service, Service> = {
  name: "service",
  local: ServiceResource,
  remote: ServiceResource,
  accepts: (service, { policy }) => !isApiServer(service) && isReflectable(service.metadata?.annotations, policy),
  keepsWhole: true,
  mustReplace: (service, copy) =>
    [service, copy].every(({ spec }) => spec?.type !== "ExternalName") && isHeadless(service) !== isHeadless(copy),
  reflected: (service, copy, scope) => tellAddresses(ServiceResource, service, publishedAddresses(copy), scope),
  withdrawn: (service, scope) => tellAddresses(ServiceResource, service, undefined, scope),
  forge: (service, { context }, present) => ({
    spec: remoteServiceSpec(service, loadBalancerClassFor(present, context.state.loadBalancerClass)),
  }),
};

/** The Service as the provider gets it. */
export function remoteServiceSpec(service: Service, loadBalancerClass?: string): ServiceSpec {
  const spec = service.spec ?? {};
  const forceNodePort = isSet(service.metadata?.annotations?.[Annotations.forceRemoteNodePort]);
  const copied: Partial<ServiceSpec> = Object.fromEntries(
    COPIED.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])),
  );
  return {
    ...copied,
    ...(spec.ports ? { ports: spec.ports.map((port) => remotePort(port, forceNodePort)) } : {}),
    ...(isHeadless(service) ? { clusterIP: "None" } : {}),
    ...(spec.type === "LoadBalancer" && loadBalancerClass ? { loadBalancerClass } : {}),
  };
}

/** Of a load balancer that is there its class cannot be changed, also where it has none: what the provider offers since is for others. */
function loadBalancerClassFor(present: Service | undefined, offered: string | undefined): string | undefined {
  return present?.spec?.type === "LoadBalancer" ? present.spec.loadBalancerClass : offered;
}

/** The node port is left to the provider; 0 says that there shall be none. */
function remotePort(
  { name, port, protocol, targetPort, appProtocol, nodePort }: ServicePort,
  force: boolean,
): ServicePort {
  return {
    port,
    ...(name === undefined ? {} : { name }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(targetPort === undefined ? {} : { targetPort }),
    ...(appProtocol === undefined ? {} : { appProtocol }),
    ...(nodePort ? (force ? { nodePort } : {}) : { nodePort: 0 }),
  };
}

function isHeadless({ spec }: Service): boolean {
  return spec?.clusterIP === "None";
}

/** Every cluster has its own. */
function isApiServer({ metadata }: Service): boolean {
  return metadata?.namespace === "default" && metadata.name === "kubernetes";
}
