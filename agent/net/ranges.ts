import { canonicalCidr, cidrContains } from "../api/cidr.js";

/** The ranges in canonical form, each once, without those that lie within another. */
export function disjointRanges(ranges: Iterable<string>): string[] {
  const all = [...new Set([...ranges].map(canonicalCidr))];
  return all.filter((range) => !all.some((other) => other !== range && cidrContains(other, range)));
}
