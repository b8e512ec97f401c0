/**
 * The list form of a Configuration's ranges. A documented manifest writes a single string where Liqo's schema has a
 * list (API specification, §13): both are accepted, and an empty string means none.
 */
export function normalizeCidrs(value: string | readonly string[] | undefined): string[] {
  if (value === undefined) return [];
  return (typeof value === "string" ? [value] : [...value]).filter((cidr) => cidr !== "");
}

/** As normalizeCidrs, of a status: an empty string keeps the place of a range that is not mapped yet (network specification, §3). */
export function mappedCidrs(value: string | readonly string[] | undefined): string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : [...value];
}
