import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { canonicalCidr } from "../../agent/api/cidr.js";
import { quantitiesEqual } from "../../agent/api/quantity.js";
import { fieldsOf, typeOf, unwrap, type FieldInfo } from "./field-info.js";
import { formatPath, type PropertyPath } from "./property-path.js";
import { hasUnknown, isUnknown } from "./unknown.js";

export interface Change {
  path: PropertyPath;
  kind: "add" | "delete" | "update";
}

/** What differs between old and new inputs, down to the fields; what means the same (quantities, ranges, sets) is no difference. */
export function compareProperties(
  schema: z.ZodObject,
  old: Record<string, unknown>,
  next: Record<string, unknown>,
): Change[] {
  const fields = fieldsOf(schema);
  const changes = new Map<string, Change>();
  const keys = new Set([...Object.keys(old), ...Object.keys(next)].filter((key) => !key.startsWith("__")));
  for (const key of keys) {
    for (const change of compare(fields[key], own(old, key), own(next, key), [key])) {
      changes.set(formatPath(change.path), change);
    }
  }
  return [...changes.values()];
}

function compare(
  schema: z.core.$ZodType | undefined,
  old: unknown,
  next: unknown,
  path: PropertyPath,
  inherited: FieldInfo = {},
): Change[] {
  const field = schema && unwrap(schema);
  const equality = field?.info.equality ?? inherited.equality;
  if (equality === "ignore" || isDeepStrictEqual(old, next)) return [];
  if (old === undefined) return [{ path, kind: "add" }];
  if (next === undefined) return [{ path, kind: "delete" }];
  if (isUnknown(next) || isUnknown(old)) return [{ path, kind: "update" }];
  if (equality !== undefined && !hasUnknown(next) && meansTheSame(equality, old, next)) return [];
  if (Array.isArray(old) && Array.isArray(next)) return compareLists(field?.schema, old, next, path, { equality });
  if (isObject(old) && isObject(next)) return compareObjects(field?.schema, old, next, path, { equality });
  return [{ path, kind: "update" }];
}

function compareObjects(
  schema: z.core.$ZodType | undefined,
  old: Record<string, unknown>,
  next: Record<string, unknown>,
  path: PropertyPath,
  info: FieldInfo,
): Change[] {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  return keys.flatMap((key) => compare(childOf(schema, key), own(old, key), own(next, key), [...path, key], info));
}

function compareLists(
  schema: z.core.$ZodType | undefined,
  old: unknown[],
  next: unknown[],
  path: PropertyPath,
  info: FieldInfo,
): Change[] {
  const element = schema && typeOf(schema) === "array" ? (schema as z.ZodArray).element : undefined;
  return Array.from({ length: Math.max(old.length, next.length) }).flatMap((_, index) =>
    compare(element, old[index], next[index], [...path, index], info),
  );
}

/** A property of the object itself: names such as "toString" are there on every object. */
function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function childOf(schema: z.core.$ZodType | undefined, key: string): z.core.$ZodType | undefined {
  if (!schema) return undefined;
  if (typeOf(schema) === "object") return fieldsOf(schema as z.ZodObject)[key];
  return typeOf(schema) === "record" ? (schema as z.ZodRecord).valueType : undefined;
}

/** Values that cannot be read as what they should be are compared as they are. */
function meansTheSame(equality: NonNullable<FieldInfo["equality"]>, old: unknown, next: unknown): boolean {
  try {
    switch (equality) {
      case "quantity":
        return isScalar(old) && isScalar(next) && quantitiesEqual(old, next);
      case "cidr":
        return typeof old === "string" && typeof next === "string" && canonicalCidr(old) === canonicalCidr(next);
      case "cidrs":
      case "set":
        return Array.isArray(old) && Array.isArray(next) && isDeepStrictEqual(sorted(old), sorted(next));
      case "ignore":
        return true;
    }
  } catch {
    return false;
  }
}

function sorted(values: unknown[]): string[] {
  return values.map((value) => JSON.stringify(value)).sort();
}

function isScalar(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
