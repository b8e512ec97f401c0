import { mapAddress } from "./cidr.js";
import type { Configuration } from "./networking-configuration.js";
import { normalizeCidrs } from "./normalize-cidrs.js";

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
export function remoteRangePairs({ spec, status }: Configuration): [real: string, mapped: string][] {
  return (["pod", "external"] as const).flatMap((type) => {
    const mapped = normalizeCidrs(status?.remote?.cidr?.[type]);
    return normalizeCidrs(spec.remote?.cidr?.[type]).flatMap((real, index): [string, string][] => {
      const counterpart = mapped[index];
      return counterpart ? [[real, counterpart]] : [];
    });
  });
}
