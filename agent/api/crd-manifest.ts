import type { CustomResourceDefinition, JSONSchemaProps } from "kubernetes-types/apiextensions/v1";
import { z } from "zod";
import { schemaHints, type ValidationRule } from "./schema-hints.js";

/** A column that `kubectl get` shows. */
export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  /** Shown with `-o wide` only. */
  wide?: boolean;
}

/** The part of a definition that the manifest is made of. */
export interface CrdSource {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular?: string;
  shortNames?: string[];
  namespaced: boolean;
  specRequired?: boolean;
  rules?: ValidationRule[];
  spec: z.ZodType;
  status?: z.ZodType;
  columns: PrinterColumn[];
  labels?: Record<string, string>;
}

/** The category that all kinds belong to: `kubectl get liqo`. */
const CATEGORY = "liqo";

type JsonSchema = Record<string, unknown>;

/** The CustomResourceDefinition of a kind. */
export function crdOf(source: CrdSource): CustomResourceDefinition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${source.plural}.${source.group}`, ...(source.labels ? { labels: source.labels } : {}) },
    spec: {
      group: source.group,
      names: {
        kind: source.kind,
        listKind: `${source.kind}List`,
        plural: source.plural,
        singular: source.singular ?? source.kind.toLowerCase(),
        categories: [CATEGORY],
        ...(source.shortNames?.length ? { shortNames: source.shortNames } : {}),
      },
      scope: source.namespaced ? "Namespaced" : "Cluster",
      versions: [
        {
          name: source.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(source) },
          ...(source.columns.length ? { additionalPrinterColumns: source.columns.map(columnOf) } : {}),
          ...(source.status ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  };
}

function columnOf({ wide, ...column }: PrinterColumn) {
  return { ...column, ...(wide ? { priority: 1 } : {}) };
}

function rootSchema(source: CrdSource): JSONSchemaProps {
  const spec = structuralSchema(source.spec);
  if (!source.specRequired) spec.default = {};
  return {
    type: "object",
    ...(source.specRequired ? { required: ["spec"] } : {}),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec,
      ...(source.status ? { status: structuralSchema(source.status) } : {}),
    },
    ...(source.rules ? { "x-kubernetes-validations": source.rules } : {}),
  };
}

/** A zod schema as the API server wants it: structural, formats named, no keys of other dialects. */
export function structuralSchema(schema: z.ZodType): JSONSchemaProps & JsonSchema {
  const derived = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => adapt(zodSchema, jsonSchema as JsonSchema),
  });
  // The copy leaves zod's hidden keys behind.
  const structural: JsonSchema = { ...derived };
  delete structural.$schema;
  return structural;
}

function adapt(zodSchema: z.core.$ZodTypes, json: JsonSchema): void {
  // Loose objects allow anything; a structural schema prunes it, and may not say both properties and the rest.
  if (json.properties) delete json.additionalProperties;
  if (json.type === "integer") adaptInteger(json);
  const hint = schemaHints.get(zodSchema as unknown as z.ZodType);
  if (hint?.replace) for (const key of Object.keys(json)) delete json[key];
  Object.assign(json, hint?.schema);
}

/** Whole-number limits of JavaScript and of int32 are implied by the format. */
function adaptInteger(json: JsonSchema): void {
  const isInt32 = json.maximum === 2 ** 31 - 1;
  json.format ??= isInt32 ? "int32" : "int64";
  if (json.maximum === 2 ** 31 - 1 || json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === -(2 ** 31) || json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}
