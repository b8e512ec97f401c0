import { readFileSync } from "node:fs";
import { REPOSITORY } from "../../languages/toolchain.js";

/** What a property of the package's schema may say about its type. */
interface Property {
  type?: string;
  $ref?: string;
  items?: Property;
  additionalProperties?: Property;
}
interface ObjectType {
  properties?: Record<string, Property>;
  required?: string[];
  enum?: { value: unknown }[];
}
interface Resource extends ObjectType {
  inputProperties?: Record<string, Property>;
  requiredInputs?: string[];
}
interface Schema {
  types: Record<string, ObjectType>;
  resources: Record<string, Resource>;
}

/** A program in YAML, as far as it is looked at. */
export interface YamlProgram {
  resources?: Record<string, { type: string; properties?: Record<string, unknown> }>;
  variables?: Record<string, unknown>;
  outputs?: Record<string, unknown>;
}

const ANY = "pulumi.json#/Any";
const schema = JSON.parse(readFileSync(`${REPOSITORY}/provider/schema.json`, "utf8")) as Schema;

/**
 * What a program in YAML has that the schema of this package does not: types, properties, values of wrong types, absent
 * properties, and outputs of resources. References count for what they stand for where that is written in the program.
 */
export function faultsOf(program: YamlProgram): string[] {
  const resources = Object.entries(program.resources ?? {});
  return [
    ...resources.flatMap(([name, { type, properties = {} }]) => faultsOfResource(name, type, properties, program)),
    ...Object.entries(program.outputs ?? {}).flatMap(([name, value]) => faultsOfOutput(name, value, program)),
  ];
}

function faultsOfResource(
  name: string,
  type: string,
  properties: Record<string, unknown>,
  program: YamlProgram,
): string[] {
  if (!type.startsWith("liqo:")) return [];
  const resource = schema.resources[tokenOf(type)];
  if (!resource) return [`${name}: there is no ${type}`];
  const inputs = { properties: resource.inputProperties, required: resource.requiredInputs };
  return faultsOfObject(name, inputs, properties, program);
}

function faultsOfObject(
  where: string,
  type: ObjectType,
  value: Record<string, unknown>,
  program: YamlProgram,
): string[] {
  const missing = (type.required ?? []).filter((key) => !(key in value)).map((key) => `${where}.${key}: missing`);
  const wrong = Object.entries(value).flatMap(([key, item]) => {
    const property = type.properties?.[key];
    return property ? faultsOfValue(`${where}.${key}`, property, item, program) : [`${where}.${key}: unknown`];
  });
  return [...missing, ...wrong];
}

function faultsOfValue(where: string, property: Property, written: unknown, program: YamlProgram): string[] {
  const value = resolved(written, program);
  // What is only known when the program runs.
  if (property.$ref === ANY || (typeof value === "string" && value.includes("${"))) return [];
  if (property.$ref) return faultsOfNamed(where, property.$ref.replace("#/types/", ""), value, program);
  if (property.type === "array") {
    if (!Array.isArray(value)) return [`${where}: not a list`];
    return value.flatMap((item, i) => faultsOfValue(`${where}[${i}]`, property.items ?? {}, item, program));
  }
  if (property.type === "object") {
    if (!isObject(value)) return [`${where}: not an object`];
    return Object.entries(value).flatMap(([key, item]) =>
      faultsOfValue(`${where}.${key}`, property.additionalProperties ?? {}, item, program),
    );
  }
  const expected = property.type === "integer" ? "number" : property.type;
  return typeof value === expected ? [] : [`${where}: a ${typeof value}, not a ${expected}`];
}

function faultsOfNamed(where: string, token: string, value: unknown, program: YamlProgram): string[] {
  const type = schema.types[token];
  if (!type) return [`${where}: the schema has no type ${token}`];
  if (type.enum) {
    return type.enum.some((one) => one.value === value) ? [] : [`${where}: ${JSON.stringify(value)} is not one of them`];
  }
  return isObject(value) ? faultsOfObject(where, type, value, program) : [`${where}: not an object`];
}

function faultsOfOutput(name: string, value: unknown, program: YamlProgram): string[] {
  const [, resource = "", property = ""] = /^\$\{([\w-]+)\.(\w+)/.exec(String(value)) ?? [];
  const type = program.resources?.[resource]?.type;
  if (!type?.startsWith("liqo:")) return [];
  return schema.resources[tokenOf(type)]?.properties?.[property] ? [] : [`outputs.${name}: ${type} has no ${property}`];
}

/** A variable of the program stands for its value. */
function resolved(value: unknown, program: YamlProgram): unknown {
  const [, variable = ""] = /^\$\{([\w-]+)\}$/.exec(String(value)) ?? [];
  return program.variables?.[variable] ?? value;
}

function tokenOf(type: string): string {
  return type.replace(/^liqo:(?:index:)?/, "liqo:index:");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
