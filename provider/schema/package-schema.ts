import type { z } from "zod";
import { fieldsOf, typeOf, unwrap, type FieldInfo } from "../framework/field-info.js";
import { providerConfig } from "../framework/provider-config.js";
import type { Shape } from "../framework/resource.js";
import type { Registry } from "../server/registry.js";
import { EXAMPLES, withExample, type Examples } from "./examples.js";
import { languages } from "./languages.js";

export const PACKAGE = "liqo";
const MODULE = "index";

type Json = Record<string, unknown>;

/** Collects the named types while properties are described. */
class Types {
  readonly all = new Map<string, Json>();
  private readonly sources = new Map<string, z.core.$ZodType>();

  /** Registers a named type once. @throws Error when one name stands for two types */
  add(name: string, source: z.core.$ZodType, describe: () => Json): string {
    const token = `${PACKAGE}:${MODULE}:${name}`;
    const known = this.sources.get(token);
    if (known === undefined) {
      this.sources.set(token, source);
      this.all.set(token, describe());
    } else if (known !== source && JSON.stringify(describe()) !== JSON.stringify(this.all.get(token))) {
      throw new Error(`two different types are called ${name}: give one of them another typeName`);
    }
    return `#/types/${token}`;
  }
}

/** Pulumi's package schema, derived from the definitions and the examples of resources alone. */
export function packageSchema(registry: Registry, version: string, examples: Examples = EXAMPLES): Json {
  const types = new Types();
  const described = ({ token, description }: { token: string; description: string }): Json => ({
    description: withExample(description, token, examples),
  });
  const resources = Object.fromEntries([
    ...registry.resources.map(
      (one) => [one.token, { ...described(one), ...resourceSchema(one, types, false) }] as const,
    ),
    ...registry.components.map(
      (one) => [one.token, { ...described(one), ...resourceSchema(one, types, true) }] as const,
    ),
  ]);
  const functions = Object.fromEntries(
    registry.functions.map((one) => [one.token, functionSchema(one, types)] as const),
  );
  const config = objectSchema(providerConfig, types);
  return {
    name: PACKAGE,
    displayName: "Liqo",
    version,
    description:
      "Joins Kubernetes clusters: an encrypted network between their pods, and a virtual node by which one uses the other's resources.",
    keywords: ["pulumi", "kubernetes", "liqo", "multi-cluster", "peering", "category/infrastructure", "kind/native"],
    license: "Apache-2.0",
    publisher: "pulumi-liqo",
    attribution: "The custom resources are those of Liqo 1.x.",
    meta: { moduleFormat: "(.*)" },
    language: languages(PACKAGE, "Peer Kubernetes clusters with Pulumi"),
    config: { variables: config.properties },
    provider: {
      description: "How to reach clusters for resources that do not say it themselves, and what holds for all of them.",
      inputProperties: config.properties,
    },
    types: Object.fromEntries([...types.all].sort(([a], [b]) => (a < b ? -1 : 1))),
    resources,
    functions,
  };
}

function resourceSchema(definition: { inputs: Shape; outputs: Shape }, types: Types, isComponent: boolean): Json {
  const inputs = objectSchema(definition.inputs, types);
  const outputs = objectSchema(definition.outputs, types);
  // State of a custom resource holds its inputs too; of those with a default there is always a value.
  const echoed = isComponent ? { properties: {}, required: [] } : echoOf(definition.inputs, inputs);
  return {
    ...(isComponent ? { isComponent: true } : {}),
    inputProperties: inputs.properties,
    ...requiredList("requiredInputs", inputs.required),
    properties: { ...echoed.properties, ...outputs.properties },
    ...requiredList("required", [...new Set([...echoed.required, ...outputs.required])]),
  };
}

function echoOf(schema: Shape, described: ObjectSchema): ObjectSchema {
  const properties = Object.fromEntries(
    Object.entries(described.properties).map(([key, property]) => {
      const rest = { ...property };
      delete rest["default"];
      return [key, rest];
    }),
  );
  const withDefault = Object.entries(fieldsOf(schema))
    .filter(([, field]) => unwrap(field).defaultValue !== undefined)
    .map(([key]) => key);
  return { properties, required: [...described.required, ...withDefault] };
}

function functionSchema(definition: { description: string; inputs: Shape; outputs: Shape }, types: Types): Json {
  const inputs = objectSchema(definition.inputs, types);
  const outputs = objectSchema(definition.outputs, types);
  return {
    description: definition.description,
    inputs: { type: "object", properties: inputs.properties, ...requiredList("required", inputs.required) },
    outputs: { type: "object", properties: outputs.properties, ...requiredList("required", outputs.required) },
  };
}

interface ObjectSchema {
  properties: Record<string, Json>;
  required: string[];
}

function objectSchema(schema: Shape, types: Types): ObjectSchema {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const [key, field] of Object.entries(fieldsOf(schema))) {
    properties[key] = propertySchema(key, field, types);
    if (unwrap(field).required) required.push(key);
  }
  return { properties, required };
}

function propertySchema(name: string, field: z.core.$ZodType, types: Types): Json {
  const { schema, info, defaultValue } = unwrap(field);
  const isPrimitive = ["string", "number", "boolean"].includes(typeof defaultValue);
  return {
    ...typeSchema(name, schema, info, types),
    ...(info.description ? { description: info.description } : {}),
    ...(isPrimitive ? { default: defaultValue } : {}),
    ...(info.secret ? { secret: true } : {}),
    ...(info.deprecated ? { deprecationMessage: info.deprecated } : {}),
  };
}

function typeSchema(name: string, schema: z.core.$ZodType, info: FieldInfo, types: Types): Json {
  switch (typeOf(schema)) {
    case "string":
      return { type: "string" };
    case "boolean":
      return { type: "boolean" };
    case "number":
      return { type: (schema as z.ZodNumber).isInt ? "integer" : "number" };
    case "enum":
      return enumType(name, schema as z.ZodEnum, info, types);
    case "array":
      return { type: "array", items: innerSchema(name, (schema as z.ZodArray).element, types) };
    case "record":
      return { type: "object", additionalProperties: innerSchema(name, (schema as z.ZodRecord).valueType, types) };
    case "object":
      return namedObject(name, schema as z.ZodObject, info, types);
    case "any":
    case "unknown":
      return { $ref: "pulumi.json#/Any" };
    default:
      throw new Error(`property ${name}: a ${typeOf(schema)} has no form in Pulumi's schema`);
  }
}

function innerSchema(name: string, field: z.core.$ZodType, types: Types): Json {
  const { schema, info } = unwrap(field);
  return typeSchema(name, schema, info, types);
}

function namedObject(name: string, schema: z.ZodObject, info: FieldInfo, types: Types): Json {
  const typeName = info.typeName ?? fail(`property ${name}: its object type needs a typeName`);
  // The type's own description, not the one of the property that uses it.
  const own = unwrap(schema).info.description;
  const ref = types.add(typeName, schema, () => {
    const { properties, required } = objectSchema(schema, types);
    return { ...(own ? { description: own } : {}), type: "object", properties, ...requiredList("required", required) };
  });
  return { $ref: ref };
}

function enumType(name: string, schema: z.ZodEnum, info: FieldInfo, types: Types): Json {
  const typeName = info.typeName ?? fail(`property ${name}: its enum needs a typeName`);
  const descriptions = info.enumDescriptions ?? {};
  const ref = types.add(typeName, schema, () => ({
    type: "string",
    enum: schema.options.map((value) => ({
      name: String(value),
      value,
      ...(descriptions[String(value)] ? { description: descriptions[String(value)] } : {}),
    })),
  }));
  return { $ref: ref };
}

function requiredList(key: string, names: string[]): Json {
  return names.length > 0 ? { [key]: names } : {};
}

function fail(message: string): never {
  throw new Error(message);
}
