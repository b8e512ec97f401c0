import { quantitiesEqual } from "../../agent/api/quantity.js";
import type { KubeObject } from "../../agent/runtime/resource-type.js";
import { formatPath, type PropertyPath } from "../framework/property-path.js";

/**
 * Where a live object is not as a manifest says: the paths, as "spec.mtu". What the manifest does not mention is no deviation: defaults of the API server, labels of
 * others. Lists count as a whole, quantities by their value.
 */
export function deviations(live: KubeObject, manifest: object): string[] {
  const { metadata, ...rest } = manifest as KubeObject;
  const { labels, annotations } = metadata ?? {};
  return deviating(live, { metadata: { labels, annotations }, ...rest }, []).map(formatPath);
}

/** The same in words, as a refresh reports it: one line, or none. `where` is the side, if there are two. */
export function deviationsOf(live: KubeObject | undefined, manifest: object, where = ""): string[] {
  const paths = live ? deviations(live, manifest) : [];
  if (paths.length === 0) return [];
  const kind = live?.kind ?? "object";
  return [`${where === "" ? "" : `${where}: `}${kind} ${live?.metadata?.name ?? ""} has another ${paths.join(", ")}`];
}

function deviating(live: unknown, wanted: unknown, path: PropertyPath): PropertyPath[] {
  if (isNothing(wanted) && isNothing(live)) return [];
  // Absent fields of a manifest say nothing.
  if (wanted === undefined) return [];
  if (isObject(wanted) && isObject(live)) {
    return Object.entries(wanted).flatMap(([key, value]) => deviating(live[key], value, [...path, key]));
  }
  if (Array.isArray(wanted) && Array.isArray(live)) {
    const isSame =
      wanted.length === live.length && wanted.every((value, index) => deviating(live[index], value, []).length === 0);
    return isSame ? [] : [path];
  }
  if (isObject(wanted) && live === undefined) return leavesOf(wanted, path);
  return isSameValue(live, wanted) ? [] : [path];
}

/** Of an object that is not there at all, what is asked for in it. */
function leavesOf(wanted: Record<string, unknown>, path: PropertyPath): PropertyPath[] {
  return Object.entries(wanted).flatMap(([key, value]) => deviating(undefined, value, [...path, key]));
}

function isSameValue(live: unknown, wanted: unknown): boolean {
  if (live === wanted) return true;
  if (!isScalar(live) || !isScalar(wanted)) return false;
  try {
    return quantitiesEqual(live, wanted);
  } catch {
    return false;
  }
}

/** Absent, and empty lists, objects and texts are stored alike. */
function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.values(value).every(isNothing);
}

function isScalar(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
