import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { registry } from "../provider/resources/index.js";
import { packageSchema } from "../provider/schema/package-schema.js";
import { VERSION } from "../provider/version.js";
import { examplePrograms } from "./example-programs.js";
import { generateSdks, LANGUAGES, WRITTEN_BY_HAND } from "./generate-sdks.js";
import { picture } from "./picture.js";
import { referencePages, type ReferenceSchema } from "./reference.js";
import { messageOf } from "../agent/runtime/kube-error.js";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Files by their path below the repository. */
type Files = Map<string, Buffer>;

/** What installing and building put beside the sources. */
const BUILT = /(^|\/)(node_modules|bin|obj|target|build|__pycache__|\.mypy_cache|[^/]*\.egg-info)\//;

const EXAMPLES = "provider/schema/examples.json";
const REFERENCE = "docs/reference";
const PICTURE = "docs/topology.svg";

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The examples in each language, provider/schema.json, the reference pages and the SDKs, as the definitions in provider/resources make them. */
async function generate(): Promise<Files> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-sdk-"));
  const schemaFile = path.join(folder, "schema.json");
  try {
    await writeFile(schemaFile, json(packageSchema(registry, VERSION, {})));
    const examples = await examplePrograms(schemaFile, path.join(folder, "examples"));
    const schema = json(packageSchema(registry, VERSION, examples));
    await writeFile(schemaFile, schema);
    await generateSdks(schemaFile, path.join(folder, "sdk"));
    const plain = packageSchema(registry, VERSION, {}) as unknown as ReferenceSchema;
    const pages = [...referencePages(plain, examples)].map(([name, text]) => [`docs/${name}`, text] as const);
    return new Map([
      [EXAMPLES, Buffer.from(json(examples))],
      ["provider/schema.json", Buffer.from(schema)],
      [PICTURE, Buffer.from(picture())],
      ...pages.map(([name, text]) => [name, Buffer.from(text)] as const),
      ...(await readSdks(path.join(folder, "sdk"))),
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** All files of the SDKs below a folder, as sdk/LANGUAGE/…; what installing and building put there is left out. */
async function readSdks(folder: string): Promise<Files> {
  const files: Files = new Map();
  for (const language of LANGUAGES) {
    const sdk = path.join(folder, language);
    for (const entry of await readdir(sdk, { recursive: true, withFileTypes: true }).catch(() => [])) {
      const file = path.join(entry.parentPath, entry.name);
      const name = path.relative(folder, file);
      if (entry.isFile() && !BUILT.test(name)) files.set(`sdk/${name}`, await readFile(file));
    }
  }
  return files;
}

async function committed(): Promise<Files> {
  const files = await readSdks(path.join(root, "sdk"));
  for (const name of WRITTEN_BY_HAND) files.delete(`sdk/${name}`);
  const pages = await readdir(path.join(root, REFERENCE)).catch(() => []);
  for (const name of [
    EXAMPLES,
    "provider/schema.json",
    PICTURE,
    `${REFERENCE}.md`,
    ...pages.map((page) => `${REFERENCE}/${page}`),
  ]) {
    const content = await readFile(path.join(root, name)).catch(() => undefined);
    if (content !== undefined) files.set(name, content);
  }
  return files;
}

/** The content is the same; of a file that is not there, nothing is. */
function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one !== undefined && other !== undefined && one.equals(other);
}

async function write(files: Files, before: Files): Promise<void> {
  for (const [name, content] of files) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  for (const name of before.keys()) if (!files.has(name)) await rm(path.join(root, name));
}

/** Writes the generated files; with --check only says which of them are stale, and fails if any is. */
async function main(): Promise<void> {
  const [files, before] = await Promise.all([generate(), committed()]);
  const names = [...new Set([...files.keys(), ...before.keys()])].sort();
  const stale = names.filter((name) => !isSame(files.get(name), before.get(name)));
  if (!process.argv.includes("--check")) {
    await write(files, before);
    process.stdout.write(stale.length === 0 ? "nothing has changed\n" : `written: ${stale.join(", ")}\n`);
    return;
  }
  if (stale.length === 0) return;
  process.stderr.write(`stale, run "npm run generate": ${stale.join(", ")}\n`);
  process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
});
