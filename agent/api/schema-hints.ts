import { z } from "zod";

/** What a zod schema cannot say but the API server's schema language can: formats, defaults, x-kubernetes-… keys. */
export interface SchemaHint {
  /** Replaces what zod derives, instead of adding to it. */
  replace?: boolean;
  schema: Record<string, unknown>;
}

/** A rule in the Common Expression Language, checked by the API server. */
export interface ValidationRule {
  rule: string;
  message: string;
}

export const schemaHints = z.registry<SchemaHint>();

/** A copy of the schema with further keys for the CRD; the given schema stays as it is. */
export function withHint<T extends z.ZodType>(schema: T, keys: Record<string, unknown>): T {
  const known = schemaHints.get(schema);
  const copy = schema.clone();
  schemaHints.add(copy, { ...known, schema: { ...known?.schema, ...keys } });
  return copy;
}

/** As withHint, but the given keys are all that the CRD says about the value. */
export function describedAs<T extends z.ZodType>(schema: T, keys: Record<string, unknown>): T {
  const copy = schema.clone();
  schemaHints.add(copy, { replace: true, schema: keys });
  return copy;
}

/** Adds rules that the API server checks. */
export function withRules<T extends z.ZodType>(schema: T, ...rules: ValidationRule[]): T {
  const known = schemaHints.get(schema)?.schema["x-kubernetes-validations"] as ValidationRule[] | undefined;
  return withHint(schema, { "x-kubernetes-validations": [...(known ?? []), ...rules] });
}

/** Lets a value be set, and removed, but not changed. */
export function immutable<T extends z.ZodType>(schema: T, message: string): T {
  return withRules(schema, { rule: "self == oldSelf", message });
}

/** An optional value that the API server fills in. */
export function withDefault<T extends z.ZodType>(schema: T, value: z.input<T>): z.ZodOptional<T> {
  return withHint(schema.optional(), { default: value });
}

/** A required value that the API server fills in when absent: readers can rely on it, writers need not send it. */
export function withRequiredDefault<T extends z.ZodType>(schema: T, value: z.input<T>): T {
  return withHint(schema, { default: value });
}

/** A list that server-side apply merges by the given keys, so that several writers each own their entries. */
export function listMap<T extends z.ZodType>(schema: T, ...keys: string[]): T {
  return withHint(schema, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });
}
