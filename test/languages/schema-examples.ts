import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { EXAMPLE_LANGUAGES, Examples } from "../../provider/schema/examples.js";
import { REPOSITORY } from "./toolchain.js";

type Language = (typeof EXAMPLE_LANGUAGES)[number];

/** The example of each resource in one language, as the SDK's documentation shows it, by the resource's name. */
export async function schemaExamples(language: Language): Promise<Map<string, string>> {
  const all = JSON.parse(await readFile(path.join(REPOSITORY, "provider/schema/examples.json"), "utf8")) as Examples;
  const texts = Object.entries(all).map(([name, texts]) => [name, texts[language] ?? ""] as const);
  const missing = texts.filter(([, text]) => text === "").map(([name]) => name);
  if (missing.length > 0) throw new Error(`no example in ${language} of ${missing.join(", ")}: run npm run generate`);
  return new Map(texts);
}

/**
 * Writes them below a folder, which is emptied first: each into a folder of its own, where programs of one language may be called alike.
 *
 * @param file its name, without a folder
 * @returns their paths
 */
export async function writeSchemaExamples(
  language: Language,
  folder: string,
  file: string,
  change: (text: string, name: string) => string = (text) => text,
): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  const examples = await schemaExamples(language);
  return Promise.all(
    [...examples].map(async ([name, text]) => {
      const own = path.join(folder, name.toLowerCase());
      await mkdir(own, { recursive: true });
      await writeFile(path.join(own, file), change(text, name));
      return path.join(own, file);
    }),
  );
}
