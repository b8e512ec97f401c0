import { mapAddress } from "./cidr.js";
import type { Configuration } from "./networking-configuration.js";
import { mappedCidrs, normalizeCidrs } from "./normalize-cidrs.js";

/**
 * A remote address as this cluster knows it: the first range of spec.remote that has it is replaced by the range at the
 * same position in status.remote. Outside all ranges the address stays as it is (network specification, §3).
 */
export function mapRemoteAddress(configuration: Configuration, address: string): string {
  return mapAddress(address, remoteRangePairs(configuration));
}

/** The opposite of mapRemoteAddress: an address as this cluster knows it, as its owner does. */
export function unmapRemoteAddress(configuration: Configuration, address: string): string {
  return mapAddress(
    address,
    remoteRangePairs(configuration).map(([real, mapped]) => [mapped, real] as const),
  );
}

/** Each remote range with its name here, pod ranges first; ranges not mapped yet are left out. */
export function remoteRangePairs(configuration: Configuration): [real: string, mapped: string][] {
  return (["pod", "external"] as const).flatMap((type) => rangePairsOf(configuration, type));
}

/** Those of one type, in the order of spec.remote. */
export function rangePairsOf(
  { spec, status }: Configuration,
  type: "pod" | "external",
): [real: string, mapped: string][] {
  const mapped = mappedCidrs(status?.remote?.cidr?.[type]);
  return normalizeCidrs(spec.remote?.cidr?.[type]).flatMap((real, index): [string, string][] => {
    const counterpart = mapped[index];
    return counterpart ? [[real, counterpart]] : [];
  });
}
