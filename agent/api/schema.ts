import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { z } from "zod";
import { isCidr, isIPv4 } from "./cidr.js";
import { CLUSTER_ID_PATTERN, isClusterID } from "./cluster-id.js";
import { isQuantity, QUANTITY_PATTERN } from "./quantity.js";
import { describedAs, withDefault, withHint } from "./schema-hints.js";

/**
 * An object that keeps fields it does not know when parsed (a newer peer may send them), while its TypeScript type
 * lists the known ones only, so that a misspelt field does not compile.
 */
export function object<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

/** A Kubernetes type that is passed on as it is: stored whole, typed by kubernetes-types, not validated here. */
export function embedded<T extends object>(): z.ZodType<T, T> {
  const schema = z.custom<T>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  );
  return describedAs(schema, { type: "object", "x-kubernetes-preserve-unknown-fields": true });
}

/** Metadata of an object made from a template. */
export const embeddedMetadata = embedded<ObjectMeta>();

function formatted(format: string, accepts: (text: string) => boolean, message: string): z.ZodString {
  return withHint(z.string().refine(accepts, message), { format });
}

/** Bytes as base64 text. */
export const bytes = formatted("byte", (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text), "must be base64");
export const cidr = formatted("cidr", isCidr, 'must be an IPv4 range such as "10.0.0.0/16"');
export const ipv4 = formatted("ipv4", isIPv4, 'must be an IPv4 address such as "10.0.0.1"');
export const dateTime = withHint(z.string(), { format: "date-time" });

/** The length limit is not part of the CRD: Liqo's schema has none (API specification, §1). */
export const clusterID = withHint(
  z
    .string()
    .refine(
      (text) => isClusterID(text),
      "must be a cluster ID: at most 51 lower-case letters, digits and dashes, beginning and ending with a letter or digit",
    ),
  { pattern: CLUSTER_ID_PATTERN },
);

export const int32 = z.int32();
export const int64 = z.int();

/** A number or a string: YAML's `cpu: 20` is stored as a JSON number. */
export const quantity = describedAs(
  z
    .union([z.number(), z.string()])
    .refine((value) => isQuantity(value), 'must be a quantity such as "500m", "4" or "8Gi"'),
  {
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern: QUANTITY_PATTERN,
    "x-kubernetes-int-or-string": true,
  },
);
export const quantities = z.record(z.string(), quantity);
export const stringMap = z.record(z.string(), z.string());

export const objectReference = withHint(
  object({
    apiVersion: z.string().optional(),
    fieldPath: z.string().optional(),
    kind: z.string().optional(),
    name: z.string().optional(),
    namespace: z.string().optional(),
    resourceVersion: z.string().optional(),
    uid: z.string().optional(),
  }),
  { "x-kubernetes-map-type": "atomic" },
);

export const localReference = withHint(object({ name: withDefault(z.string(), "") }), {
  "x-kubernetes-map-type": "atomic",
});

/** The standard Kubernetes condition (metav1.Condition). */
export const standardCondition = object({
  type: z.string().min(1).max(316),
  status: z.enum(["True", "False", "Unknown"]),
  observedGeneration: int64.min(0).optional(),
  lastTransitionTime: dateTime,
  reason: z.string().min(1).max(1024),
  message: z.string().max(32768),
});

export type ObjectReference = z.infer<typeof objectReference>;
export type LocalReference = z.infer<typeof localReference>;
export type Quantities = z.infer<typeof quantities>;
export type StandardCondition = z.infer<typeof standardCondition>;
