import { EXAMPLE_LANGUAGES, type Examples } from "../provider/schema/examples.js";

/** The part of a Pulumi package schema that the reference shows. */
interface Property {
  type?: string;
  $ref?: string;
  description?: string;
  secret?: boolean;
  items?: Property;
  additionalProperties?: Property;
}

interface ObjectShape {
  description?: string;
  properties?: Record<string, Property>;
  required?: string[];
  enum?: { value: unknown; description?: string }[];
}

interface ResourceShape extends ObjectShape {
  inputProperties?: Record<string, Property>;
  requiredInputs?: string[];
}

interface FunctionShape {
  description?: string;
  inputs?: ObjectShape;
  outputs?: ObjectShape;
}

export interface ReferenceSchema {
  provider: ResourceShape;
  resources: Record<string, ResourceShape>;
  functions: Record<string, FunctionShape>;
  types: Record<string, ObjectShape>;
}

/** What stands on a page of its own. */
interface Subject {
  /** The resource's or function's name, as programs write it. */
  name: string;
  description: string;
  parts: string[];
  /** The properties whose types the page explains. */
  properties: Property[];
}

const NOTE = "Generated from the package schema by `npm run generate`.";

/**
 * The reference, by path below docs/: reference.md lists what there is, and each resource and function has a page in reference/ with an example, all that
 * it takes and gives, and the types of that. The schema's descriptions must be without examples.
 */
export function referencePages(schema: ReferenceSchema, examples: Examples): Map<string, string> {
  const resources = Object.entries(schema.resources).map(([token, shape]) => resourceSubject(token, shape, examples));
  const functions = Object.entries(schema.functions).map(([token, shape]) => functionSubject(token, shape));
  const provider = providerSubject(schema.provider);
  const pages = [provider, ...resources, ...functions].map(
    (subject) => [`reference/${fileOf(subject.name)}`, page(subject, schema)] as const,
  );
  const index = [
    "# Reference",
    `${NOTE} In YAML a resource's type is \`liqo:Name\`.`,
    "## Resources",
    list(resources),
    "## Functions",
    list(functions),
    "## Configuration",
    list([provider]),
  ];
  return new Map([["reference.md", text(index)], ...pages]);
}

function resourceSubject(token: string, resource: ResourceShape, examples: Examples): Subject {
  const inputs = resource.inputProperties ?? {};
  const outputs = Object.fromEntries(Object.entries(resource.properties ?? {}).filter(([name]) => !(name in inputs)));
  return {
    name: nameOf(token),
    description: resource.description ?? "",
    parts: [
      ...exampleOf(examples[nameOf(token)]),
      ...propertyTable("Inputs", inputs, resource.requiredInputs),
      ...propertyTable("Outputs", outputs, resource.required),
    ],
    properties: [...Object.values(inputs), ...Object.values(outputs)],
  };
}

function functionSubject(token: string, { description = "", inputs, outputs }: FunctionShape): Subject {
  return {
    name: nameOf(token),
    description,
    parts: [
      ...propertyTable("Arguments", inputs?.properties, inputs?.required),
      ...propertyTable("Results", outputs?.properties, outputs?.required),
    ],
    properties: [...Object.values(inputs?.properties ?? {}), ...Object.values(outputs?.properties ?? {})],
  };
}

function providerSubject({ description = "", inputProperties = {} }: ResourceShape): Subject {
  return {
    name: "Provider",
    description: `${description} Each is set by \`pulumi config set liqo:NAME\`, or as an argument of an explicit provider.`,
    parts: propertyTable("Settings", inputProperties),
    properties: Object.values(inputProperties),
  };
}

function page({ name, description, parts, properties }: Subject, { types }: ReferenceSchema): string {
  const named = typesOf(properties, types);
  return text([
    `# ${name}`,
    `${NOTE} [All resources and functions](../reference.md)`,
    description,
    ...parts,
    ...(named.length > 0 ? ["## Types"] : []),
    ...named.flatMap((token) => typeSection(token, types[token] ?? {})),
  ]);
}

/** Of a page for people two languages are enough; the SDKs' own documentation has each its own. */
const SHOWN = new Set<string>(["typescript", "yaml"]);

function exampleOf(example: Examples[string] = {}): string[] {
  const shown = EXAMPLE_LANGUAGES.filter((language) => SHOWN.has(language) && example[language]);
  if (shown.length === 0) return [];
  return ["## Example", ...shown.map((language) => `\`\`\`${language}\n${example[language]}\`\`\``)];
}

/** The named types of properties and of their own properties, each once, in the order in which a reader meets them. */
function typesOf(properties: readonly Property[], types: ReferenceSchema["types"]): string[] {
  const found = new Set<string>();
  const look = (property: Property | undefined): void => {
    if (!property) return;
    look(property.items);
    look(property.additionalProperties);
    const token = property.$ref?.replace("#/types/", "") ?? "";
    if (!types[token] || found.has(token)) return;
    found.add(token);
    for (const inner of Object.values(types[token].properties ?? {})) look(inner);
  };
  properties.forEach(look);
  return [...found];
}

function typeSection(token: string, type: ObjectShape): string[] {
  const values = (type.enum ?? []).map(({ value, description }) => `- \`${String(value)}\`: ${oneLine(description)}`);
  return [
    `### ${nameOf(token)}`,
    type.description ?? "",
    values.join("\n"),
    ...propertyTable("", type.properties, type.required),
  ];
}

function propertyTable(title: string, properties: Record<string, Property> = {}, required: string[] = []): string[] {
  const entries = Object.entries(properties);
  if (entries.length === 0) return [];
  const rows = entries.map(([name, property]) => {
    const marks = [required.includes(name) ? "required" : "", property.secret ? "secret" : ""].filter(Boolean);
    return `| \`${name}\` | ${typeOf(property)} | ${marks.join(", ")} | ${oneLine(property.description)} |`;
  });
  const table = ["| Name | Type | | Meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
  return title ? [`## ${title}`, table] : [table];
}

function typeOf(property: Property): string {
  if (property.$ref?.startsWith("#/types/")) {
    const name = nameOf(property.$ref);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (property.type === "array") return `list of ${property.items ? typeOf(property.items) : "anything"}`;
  if (property.type === "object")
    return `map of ${property.additionalProperties ? typeOf(property.additionalProperties) : "anything"}`;
  return property.type ?? "anything";
}

function list(subjects: readonly Subject[]): string {
  return subjects
    .map(({ name, description }) => `- [${name}](reference/${fileOf(name)}): ${firstSentence(description)}`)
    .join("\n");
}

function firstSentence(description: string): string {
  return /^.*?[.](?=\s|$)/s.exec(oneLine(description))?.[0] ?? oneLine(description);
}

/** NetworkLink: network-link.md. */
function fileOf(name: string): string {
  return `${name.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.md`;
}

function nameOf(token: string): string {
  return token.split(/[:/]/).pop() ?? token;
}

function oneLine(line = ""): string {
  return line.replace(/\s+/g, " ").replace(/\|/g, "\\|").trim();
}

function text(blocks: readonly string[]): string {
  return `${blocks.filter(Boolean).join("\n\n")}\n`;
}
