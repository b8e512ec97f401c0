import type { Pod } from "kubernetes-types/core/v1";
import { parse } from "yaml";

/** Where the pods of test manifests say what becomes of them: a part of their status, in YAML. */
const EXPECTED = "expected";
const DEFAULT = { phase: "Succeeded" };

/** Whether a pod's status has what its annotation expects, and has ended well where there is none. */
export function isAsExpected({ metadata, status }: Pod): boolean {
  const text = metadata?.annotations?.[EXPECTED];
  return contains(status, text === undefined ? DEFAULT : parse(text));
}

/** Whether all of `part` is in `whole`: of objects the fields, of lists each element somewhere. */
function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null) return whole === part;
  if (typeof whole !== "object" || whole === null) return false;
  if (Array.isArray(part)) return part.every((one) => Object.values(whole).some((element) => contains(element, one)));
  const fields = whole as Record<string, unknown>;
  return Object.entries(part).every(([field, value]) => contains(fields[field], value));
}
