import type { z } from "zod";

/** What a field says about itself beyond its type; given with zod's `.meta({...})` as the last call on the field. */
export interface FieldInfo {
  /** For the schema and the SDK's documentation: meaning, unit, default and effect. */
  description?: string;
  /** Kept encrypted in state, never printed. */
  secret?: boolean;
  /** Two values that mean the same make no difference. Default: equal by structure. */
  equality?: "quantity" | "cidr" | "cidrs" | "set" | "ignore";
  /** The name of an object or enum type in the SDK: "Cluster" becomes `ClusterArgs` for inputs and `Cluster` for outputs. */
  typeName?: string;
  /** Documentation of enum values, by value. */
  enumDescriptions?: Record<string, string>;
  /** A text that may also be given as the object that it stands for, as some packages have it: it becomes JSON. */
  json?: boolean;
  /** The object is a ClusterArgs: the framework loads it, and reaches out to the cluster, in check. */
  cluster?: boolean;
  /** A map of the provider's configuration that lies beneath this one: a key here comes first. */
  beneath?: "globalLabels" | "globalAnnotations";
  /** Why not to use it any more, and what to use. */
  deprecated?: string;
}

declare module "zod" {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- merges into zod's interface
  interface GlobalMeta extends FieldInfo {}
}

/** The innermost schema and everything that the wrappers around it (optional, default, nullable) and itself say. */
export interface Field {
  schema: z.core.$ZodType;
  info: FieldInfo;
  required: boolean;
  defaultValue?: unknown;
}

/** The fields of an object schema, and no more: a property called "valueOf" finds nothing. */
export function fieldsOf(schema: z.ZodObject): Record<string, z.core.$ZodType> {
  return Object.assign(Object.create(null) as Record<string, z.core.$ZodType>, schema.shape);
}

/** Which kind of schema it is: "object", "string", … */
export function typeOf(schema: z.core.$ZodType): string {
  return schema._zod.def.type;
}

/** The properties that name a cluster. */
export function clusterFieldsOf(schema: z.ZodObject): string[] {
  return Object.entries(fieldsOf(schema))
    .filter(([, field]) => unwrap(field).info.cluster)
    .map(([name]) => name);
}

type Meta = { meta?: () => FieldInfo | undefined };

/** Schemas do not change, and every value of every resource is held against one several times. */
const unwrapped = new WeakMap<z.core.$ZodType, Field>();

/** Takes the wrappers off a field. What an outer wrapper says wins. */
export function unwrap(schema: z.core.$ZodType): Field {
  const known = unwrapped.get(schema);
  if (known) return known;
  const field = withoutWrappers(schema);
  unwrapped.set(schema, field);
  return field;
}

function withoutWrappers(schema: z.core.$ZodType): Field {
  const info = (schema as Meta).meta?.() ?? {};
  const def = schema._zod.def as { type: string; innerType?: z.core.$ZodType; defaultValue?: unknown };
  if (
    !def.innerType ||
    !["optional", "default", "prefault", "nullable", "readonly", "nonoptional"].includes(def.type)
  ) {
    return { schema, info, required: true };
  }
  const inner = unwrap(def.innerType);
  const isOptional =
    def.type === "optional" || def.type === "default" || def.type === "prefault" || def.type === "nullable";
  return {
    schema: inner.schema,
    info: { ...inner.info, ...info },
    required: inner.required && !isOptional,
    defaultValue: "defaultValue" in def ? def.defaultValue : inner.defaultValue,
  };
}
