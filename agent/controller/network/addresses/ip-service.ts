import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { Service } from "kubernetes-types/core/v1";
import { IPResource, Labels, type IP } from "../../../api/index.js";
import {
  EndpointSliceResource,
  ServiceResource,
  isOwnedBy,
  nonBlockingOwnerReference,
  type Informer,
  type KubeClient,
  type ResourceType,
  type SharedInformers,
} from "../../../runtime/index.js";
import { FIELD_MANAGER } from "../constants.js";

/**
 * The Service and the EndpointSlice that an IP's `serviceTemplate` asks for, both of the IP's name (network specification, §4).
 *
 * @throws Error where one of that name is there that was not made for the IP: it is not touched, and looked for again
 */
export async function applyIPService(client: KubeClient, ip: IP): Promise<void> {
  const [service, slice] = ipServiceObjects(ip);
  const { name = "", namespace = "" } = ip.metadata;
  for (const type of OWNED) {
    const present = await client.get(type, { name, namespace });
    if (!present || isOwnedBy(present, ip)) continue;
    throw new Error(
      `spec.serviceTemplate: ${type.kind} ${namespace}/${name} is there and was not made for this IP: remove or rename one of them`,
    );
  }
  await client.apply(ServiceResource, service, { fieldManager: FIELD_MANAGER });
  await client.apply(EndpointSliceResource, slice, { fieldManager: FIELD_MANAGER });
}

/** Takes them away; Kubernetes would do so too, but only later. */
export async function deleteIPService(client: KubeClient, ip: IP): Promise<void> {
  const { name = "", namespace = "" } = ip.metadata;
  for (const type of OWNED) {
    const present = await client.get(type, { name, namespace });
    if (present && isOwnedBy(present, ip)) await client.delete(type, { name, namespace });
  }
}

const OWNED: readonly ResourceType[] = [ServiceResource, EndpointSliceResource];
const MARK = { [Labels.ipService]: "true" };

/** Those that are there. */
export function ipServiceInformers(informers: SharedInformers): [Informer<Service>, Informer<EndpointSlice>] {
  const options = { labelSelector: `${Labels.ipService}=true` };
  return [informers.for(ServiceResource, options), informers.for(EndpointSliceResource, options)];
}

export function ipServiceObjects(ip: IP): [Service, EndpointSlice] {
  const { metadata, spec } = ip.spec.serviceTemplate ?? {};
  const { name = "", namespace = "" } = ip.metadata;
  const identity = { name, namespace, ownerReferences: [nonBlockingOwnerReference(IPResource, ip)] };
  // No selector: Kubernetes would replace the endpoints by pods.
  const serviceSpec = { ...spec };
  delete serviceSpec.selector;
  return [
    {
      metadata: { ...identity, labels: { ...metadata?.labels, ...MARK }, annotations: metadata?.annotations },
      spec: serviceSpec,
    },
    {
      metadata: { ...identity, labels: { ...metadata?.labels, ...MARK, "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [{ addresses: [ip.spec.ip], conditions: { ready: true } }],
      ports: (spec?.ports ?? []).map((port) => ({
        name: port.name ?? "",
        protocol: port.protocol ?? "TCP",
        port: typeof port.targetPort === "number" ? port.targetPort : port.port,
      })),
    },
  ];
}
