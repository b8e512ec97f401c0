import type { Endpoint, EndpointSlice } from "kubernetes-types/discovery/v1";
import { LabelValues, Labels } from "../../agent/api/index.js";

const SERVICE_NAME = "kubernetes.io/service-name";

/**
 * Where Services lead otherwise there than here, a line each. The provider's slices of its own pods and those reflected are taken together: by pods' names, which both
 * clusters share, and by addresses, as the provider calls them.
 */
export function endpointsDiffer(
  local: readonly EndpointSlice[],
  remote: readonly EndpointSlice[],
  addressThere: (address: string) => string,
): string[] {
  const [here, there] = [endpointsOf(local, addressThere), endpointsOf(remote, (address) => address)];
  const services = new Set([...here.keys(), ...there.keys()]);
  const led = [...services].flatMap((service) => {
    const [one, other] = [here, there].map((all) => all.get(service)?.sort().join(", ") ?? "nothing");
    return one === other ? [] : [`Service ${service} leads to ${one} here and to ${other} there`];
  });
  return [...led, ...copiesDiffer(local, remote)];
}

function copiesDiffer(local: readonly EndpointSlice[], remote: readonly EndpointSlice[]): string[] {
  const copies = remote.filter(
    ({ metadata }) => metadata?.labels?.[Labels.managedBy] === LabelValues.shadowEndpointSliceManager,
  );
  const [here, there] = [local, copies].map((slices) => new Set(slices.map(({ metadata }) => metadata?.name)));
  return [
    ...[...here!].filter((name) => !there!.has(name)).map((name) => `EndpointSlice ${name} is not there`),
    ...[...there!].filter((name) => !here!.has(name)).map((name) => `EndpointSlice ${name} is only there`),
  ];
}

/** By Service; those that lead nowhere are left out. */
function endpointsOf(
  slices: readonly EndpointSlice[],
  addressThere: (address: string) => string,
): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const { metadata, endpoints, ports } of slices) {
    const service = metadata?.labels?.[SERVICE_NAME] ?? "";
    const numbers = (ports ?? []).map(({ port }) => port).join(" ");
    const described = (endpoints ?? []).map((endpoint) => `${describe(endpoint, addressThere)} port ${numbers}`);
    if (described.length > 0) all.set(service, [...(all.get(service) ?? []), ...described]);
  }
  return all;
}

function describe({ targetRef, addresses, conditions }: Endpoint, addressThere: (address: string) => string): string {
  const who = targetRef?.name ?? addresses.map(addressThere).join(" ");
  return conditions?.ready === false ? `${who} (not ready)` : who;
}
