import type { ServiceSpec } from "kubernetes-types/core/v1";
import { EndpointSliceResource, ServiceResource } from "../../agent/runtime/index.js";
import type { LabCluster } from "./lab.js";

const MANAGER = { fieldManager: "test" };

/** A Service without a selector whose only endpoint is a pod of a peer, by the address by which the cluster calls it. */
export async function exposeRemote(
  { client }: LabCluster,
  metadata: { name: string; namespace: string },
  spec: ServiceSpec,
  address: string,
): Promise<void> {
  await client.apply(ServiceResource, { metadata, spec }, MANAGER);
  await client.apply(
    EndpointSliceResource,
    {
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: (spec.ports ?? []).map(({ name, protocol, port }) => ({ name, protocol, port })),
    },
    MANAGER,
  );
}
