/** The part of a Pulumi package schema that the reference page shows. */
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

export interface ReferenceSchema {
  resources: Record<string, ObjectShape & { inputProperties?: Record<string, Property>; requiredInputs?: string[] }>;
  functions: Record<string, { description?: string; inputs?: ObjectShape; outputs?: ObjectShape }>;
  types: Record<string, ObjectShape>;
}

/** docs/reference.md: every resource, function and type with what it takes and gives, from the package schema. */
export function referencePage(schema: ReferenceSchema): string {
  return [
    "# Reference",
    "Generated from the package schema by `npm run generate`. In YAML a resource's type is `liqo:Name`.",
    "## Resources",
    ...Object.entries(schema.resources).flatMap(([token, resource]) => resourceSection(token, resource)),
    "## Functions",
    ...Object.entries(schema.functions).flatMap(([token, { description, inputs, outputs }]) => [
      `### ${nameOf(token)}`,
      description ?? "",
      ...propertyTable("Argument", inputs?.properties, inputs?.required),
      ...propertyTable("Result", outputs?.properties, outputs?.required),
    ]),
    "## Types",
    ...Object.entries(schema.types).flatMap(([token, type]) => typeSection(token, type)),
    "",
  ]
    .filter((block, index, all) => block !== "" || index === all.length - 1)
    .join("\n\n");
}

function resourceSection(token: string, resource: ReferenceSchema["resources"][string]): string[] {
  const inputs = resource.inputProperties ?? {};
  const outputs = Object.entries(resource.properties ?? {}).filter(([name]) => !(name in inputs));
  return [
    `### ${nameOf(token)}`,
    resource.description ?? "",
    ...propertyTable("Input", inputs, resource.requiredInputs),
    ...propertyTable("Output", Object.fromEntries(outputs), resource.required),
  ];
}

function typeSection(token: string, type: ObjectShape): string[] {
  const values = (type.enum ?? []).map(({ value, description }) => `- \`${String(value)}\`: ${oneLine(description)}`);
  return [
    `### ${nameOf(token)}`,
    type.description ?? "",
    values.join("\n"),
    ...propertyTable("Property", type.properties, type.required),
  ];
}

function propertyTable(title: string, properties: Record<string, Property> = {}, required: string[] = []): string[] {
  const entries = Object.entries(properties);
  if (entries.length === 0) return [];
  const rows = entries.map(([name, property]) => {
    const marks = [required.includes(name) ? "required" : "", property.secret ? "secret" : ""].filter(Boolean);
    return `| \`${name}\` | ${typeOf(property)} | ${marks.join(", ")} | ${oneLine(property.description)} |`;
  });
  return [[`| ${title} | Type | | Meaning |`, "| --- | --- | --- | --- |", ...rows].join("\n")];
}

function typeOf(property: Property): string {
  if (property.$ref) return nameOf(property.$ref);
  if (property.type === "array") return `list of ${property.items ? typeOf(property.items) : "anything"}`;
  if (property.type === "object")
    return `map of ${property.additionalProperties ? typeOf(property.additionalProperties) : "anything"}`;
  return property.type ?? "anything";
}

function nameOf(token: string): string {
  return token.split(/[:/]/).pop() ?? token;
}

function oneLine(text = ""): string {
  return text.replace(/\s+/g, " ").replace(/\|/g, "\\|").trim();
}
