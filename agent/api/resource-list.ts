import { addQuantities, compareQuantities, quantitiesEqual, subtractQuantities, type Quantity } from "./quantity.js";

/** Amounts by resource name: requests, limits, capacities, quotas. */
export type ResourceList = Record<string, Quantity>;

/** Whether both lists name the same resources with the same values, however written. */
export function resourceListsEqual(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => b[name] !== undefined && quantitiesEqual(a[name] ?? 0, b[name]));
}

/** The sum; a resource absent from one list counts as zero there. */
export function addResourceLists(a: ResourceList, b: ResourceList): ResourceList {
  return combine(a, b, addQuantities);
}

/** a − b; may be negative. */
export function subtractResourceLists(a: ResourceList, b: ResourceList): ResourceList {
  return combine(a, b, subtractQuantities);
}

/** The larger amount of each resource. */
export function maxResourceLists(a: ResourceList, b: ResourceList): ResourceList {
  return combine(a, b, (left, right) => String(compareQuantities(left, right) < 0 ? right : left));
}

function combine(
  a: ResourceList,
  b: ResourceList,
  operation: (left: Quantity, right: Quantity) => string,
): ResourceList {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, operation(a[name] ?? 0, b[name] ?? 0)]));
}
