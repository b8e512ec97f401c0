/** Whether two values are the same JSON, whatever the order of fields; absent and undefined are. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const defined = (value: object): [string, unknown][] =>
    Object.entries(value).filter(([, member]) => member !== undefined);
  const [left, right] = [defined(a), new Map(defined(b))];
  return left.length === right.size && left.every(([key, value]) => right.has(key) && sameJson(value, right.get(key)));
}
