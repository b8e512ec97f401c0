import { z } from "zod";
import type { Failures } from "./context.js";
import { fieldsOf, typeOf, unwrap, type Field } from "./field-info.js";
import type { PropertyPath } from "./property-path.js";
import { hasUnknown, isUnknown, UNKNOWN } from "./unknown.js";

/**
 * Checks properties against a schema any part of which may be unknown, fills in defaults, and reports every failure with its
 * path. What is not valid is UNKNOWN in the answer, so that later checks can go on with the rest.
 */
export function validateProperties(
  schema: z.ZodObject,
  value: Record<string, unknown>,
  failures: Failures,
): Record<string, unknown> {
  const result = validateObject(schema, value, [], failures);
  return isUnknown(result) ? {} : (result as Record<string, unknown>);
}

function validate(schema: z.core.$ZodType, value: unknown, path: PropertyPath, failures: Failures): unknown {
  if (isUnknown(value)) return UNKNOWN;
  const field = unwrap(schema);
  if (value === undefined || value === null) return absent(field, path, failures);
  switch (typeOf(field.schema)) {
    case "object":
      return validateObject(field.schema as z.ZodObject, value, path, failures);
    case "array":
      return validateArray(field.schema as z.ZodArray, value, path, failures);
    case "record":
      return validateRecord(field.schema as z.ZodRecord, value, path, failures);
    default:
      return validateLeaf(field, value, path, failures);
  }
}

function absent(field: Field, path: PropertyPath, failures: Failures): unknown {
  // A default may itself be an object whose fields have defaults.
  if (field.defaultValue !== undefined)
    return validate(field.schema, structuredClone(field.defaultValue), path, failures);
  if (!field.required) return undefined;
  failures.add(path, "is required");
  return UNKNOWN;
}

function validateObject(schema: z.ZodObject, value: unknown, path: PropertyPath, failures: Failures): unknown {
  if (!isPlainObject(value)) return mistyped("an object", value, path, failures);
  const before = failures.count;
  const entries: [string, unknown][] = Object.entries(fieldsOf(schema)).map(([key, field]) => [
    key,
    validate(field, Object.hasOwn(value, key) ? value[key] : undefined, [...path, key], failures),
  ]);
  for (const key of Object.keys(value)) {
    // Names beginning with "__" are the engine's own.
    if (!Object.hasOwn(schema.shape, key) && !key.startsWith("__")) {
      failures.add([...path, key], `is not a property here; there are ${Object.keys(schema.shape).join(", ")}`);
    }
  }
  const result = Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
  if (failures.count === before) refine(schema, result, path, failures);
  return result;
}

function validateArray(schema: z.ZodArray, value: unknown, path: PropertyPath, failures: Failures): unknown {
  if (!Array.isArray(value)) return mistyped("a list", value, path, failures);
  const before = failures.count;
  const result = value.map((element, index) => validate(schema.element, element, [...path, index], failures));
  if (failures.count === before) refine(schema, result, path, failures);
  return result;
}

function validateRecord(schema: z.ZodRecord, value: unknown, path: PropertyPath, failures: Failures): unknown {
  if (!isPlainObject(value)) return mistyped("a map", value, path, failures);
  const before = failures.count;
  const entries = Object.entries(value).map(([key, inner]) => {
    const named = z.safeParse(schema.keyType, key);
    if (!named.success) failures.add([...path, key], named.error.issues.map((issue) => issue.message).join("; "));
    return [key, validate(schema.valueType, inner, [...path, key], failures)] as const;
  });
  const result = Object.fromEntries(entries);
  if (failures.count === before) refine(schema, result, path, failures);
  return result;
}

/** Rules over a whole object or list (refine, min, max): only once everything in it is known and valid. */
function refine(schema: z.core.$ZodType, value: unknown, path: PropertyPath, failures: Failures): void {
  if (!schema._zod.def.checks?.length || hasUnknown(value)) return;
  const parsed = z.safeParse(schema, value);
  if (!parsed.success) report(parsed.error.issues, undefined, path, failures);
}

function validateLeaf(field: Field, value: unknown, path: PropertyPath, failures: Failures): unknown {
  const isObject = field.info.json === true && isPlainObject(value);
  if (isObject && hasUnknown(value)) return UNKNOWN;
  const typed = isObject ? JSON.stringify(value) : coerce(typeOf(field.schema), value);
  const parsed = z.safeParse(field.schema, typed);
  if (parsed.success) return parsed.data;
  report(parsed.error.issues, field.info.secret ? undefined : typed, path, failures);
  return UNKNOWN;
}

/** YAML writes `cpu: 2` where a quantity "2" is meant. Nothing else is guessed. */
function coerce(type: string, value: unknown): unknown {
  return type === "string" && typeof value === "number" ? String(value) : value;
}

function report(issues: readonly z.core.$ZodIssue[], value: unknown, path: PropertyPath, failures: Failures): void {
  for (const issue of issues) {
    const inner = issue.path.filter((part): part is string | number => typeof part !== "symbol");
    failures.add([...path, ...inner], describeIssue(issue, value));
  }
}

const TYPE_NAMES: Record<string, string> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
};

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const butIs = value === undefined ? "" : `, not ${show(value)}`;
  if (issue.code === "invalid_type") return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}${butIs}`;
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}${butIs}`;
  if (issue.code === "too_small") return `must ${limit("at least", issue.minimum, issue.origin, butIs)}`;
  if (issue.code === "too_big") return `must ${limit("at most", issue.maximum, issue.origin, butIs)}`;
  return issue.message;
}

function limit(how: string, bound: number | bigint, origin: string, butIs: string): string {
  if (origin === "number" || origin === "int") return `be ${how} ${bound}${butIs}`;
  return `have ${how} ${bound} ${origin === "string" ? "characters" : "elements"}`;
}

function mistyped(expected: string, value: unknown, path: PropertyPath, failures: Failures): typeof UNKNOWN {
  failures.add(path, `must be ${expected}, not ${kindOf(value)}`);
  return UNKNOWN;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return TYPE_NAMES[typeof value] ?? typeof value;
}

/** A value in a message, cut short; objects and lists by their kind only, as secrets may be inside. */
function show(value: unknown): string {
  if (typeof value === "object" && value !== null) return kindOf(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Paths of the fields that the schema calls secret, as far as the value has them. */
export function secretPathsOf(schema: z.core.$ZodType, value: unknown, path: PropertyPath = []): PropertyPath[] {
  if (value === undefined || value === null) return [];
  const field = unwrap(schema);
  if (field.info.secret && path.length > 0) return [path];
  if (isUnknown(value)) return [];
  const inner = (type: z.core.$ZodType, child: unknown, key: string | number) =>
    secretPathsOf(type, child, [...path, key]);
  switch (typeOf(field.schema)) {
    case "object":
      return isPlainObject(value)
        ? Object.entries(fieldsOf(field.schema as z.ZodObject)).flatMap(([key, type]) => inner(type, value[key], key))
        : [];
    case "record":
      return isPlainObject(value)
        ? Object.entries(value).flatMap(([key, child]) => inner((field.schema as z.ZodRecord).valueType, child, key))
        : [];
    case "array":
      return Array.isArray(value)
        ? value.flatMap((child, index) => inner((field.schema as z.ZodArray).element, child, index))
        : [];
    default:
      return [];
  }
}
