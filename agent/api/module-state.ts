const GOOD: readonly string[] = ["Ready", "Established", "None"];

/** Whether a condition of a ForeignCluster's module says that nothing is wrong; none at all says so, too (API specification, ForeignCluster). */
export function isGoodState(status: string | undefined): boolean {
  return GOOD.includes(status ?? "None");
}
