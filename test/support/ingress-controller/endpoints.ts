import type { Service } from "kubernetes-types/core/v1";
import type { EndpointSlice } from "kubernetes-types/discovery/v1";
import type { ServiceBackendPort } from "kubernetes-types/networking/v1";

/** Where a Service's port is answered. */
export interface ServiceEndpoint {
  address: string;
  port: number;
}

/** The ready endpoints of a Service's port, which an Ingress tells by its name or number; none if there is no such port. */
export function readyEndpoints(
  service: Service | undefined,
  slices: readonly EndpointSlice[],
  wanted: ServiceBackendPort = {},
): ServiceEndpoint[] {
  const port = service?.spec?.ports?.find(({ name, port }) =>
    wanted.name ? name === wanted.name : port === wanted.number,
  );
  if (!port) return [];
  return slices.flatMap((slice) => {
    // A port without a name has an empty one in slices.
    const number = slice.ports?.find(({ name }) => (name ?? "") === (port.name ?? ""))?.port;
    if (number === undefined) return [];
    const ready = slice.endpoints.filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ addresses }) => addresses.map((address) => ({ address, port: number })));
  });
}
