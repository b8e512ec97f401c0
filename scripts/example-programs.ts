import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Examples } from "../provider/schema/examples.js";
import { run } from "../test/clusters/support/exec.js";
import { ensureGenerator } from "./generate-sdks.js";

/** One program in YAML for each resource, called after it. */
const SOURCES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../provider/schema/examples");

interface Program {
  resources?: Record<string, { type: string; properties?: object; options?: object }>;
  outputs?: Record<string, unknown>;
}

/**
 * The example of each resource in every language. They are written in YAML; Pulumi's own converters make the others.
 *
 * @param folder for files on the way; made if it is not there, and removed
 * @throws Error when an example does not fit the schema, with the converter's reason
 */
export async function examplePrograms(schemaFile: string, folder: string): Promise<Examples> {
  const names = (await readdir(SOURCES)).filter((name) => name.endsWith(".yaml")).map((name) => name.slice(0, -5));
  const sources = new Map(
    await Promise.all(
      names.sort().map(async (name) => [name, await readFile(path.join(SOURCES, `${name}.yaml`), "utf8")] as const),
    ),
  );
  await mkdir(folder, { recursive: true });
  try {
    for (const [name, text] of sources) {
      await writeFile(path.join(folder, `${name}.pp`), convertible(parse(text) as Program));
    }
    const answer = await run(await ensureGenerator(), ["examples", schemaFile, folder]);
    const converted = JSON.parse(answer) as Examples;
    return Object.fromEntries([...sources].map(([name, yaml]) => [name, { ...converted[name], yaml }]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A program in the language that Pulumi's converters start from. */
export function convertible({ resources = {}, outputs = {} }: Program): string {
  const blocks = Object.entries(resources).map(([name, { type, properties = {}, options }]) => {
    const lines = Object.entries(properties).map(([key, value]) => `  ${key} = ${expression(value)}`);
    const more = options ? [`  options ${expression(options)}`] : [];
    return `resource ${name} ${JSON.stringify(fullToken(type))} {\n${[...lines, ...more].join("\n")}\n}\n`;
  });
  const outs = Object.entries(outputs).map(([name, value]) => `output ${name} {\n  value = ${expression(value)}\n}\n`);
  return [...blocks, ...outs].join("");
}

/** In YAML the module may be left out. */
function fullToken(type: string): string {
  return type.replace(/^(\w+):(\w+)$/, "$1:index:$2");
}

function expression(value: unknown): string {
  if (typeof value === "string") return /^\$\{([\w.]+)\}$/.exec(value)?.[1] ?? JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(expression).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, inner]) => {
    const name = /^\w+$/.test(key) ? key : JSON.stringify(key);
    return `${name} = ${expression(inner)}\n`;
  });
  return `{\n${entries.join("")}}`;
}
