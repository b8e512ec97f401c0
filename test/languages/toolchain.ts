import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { tryRun, type ExecOptions } from "../clusters/support/exec.js";
import { cacheFolder, sha256 } from "../clusters/support/files.js";
import { withLock } from "../clusters/support/lock.js";

export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** The folder of an example. */
export function example(name: string): string {
  return path.join(REPOSITORY, "examples", name);
}

/** The folder of a language's SDK. */
export function sdk(language: string): string {
  return path.join(REPOSITORY, "sdk", language);
}

/** Runs a compiler or checker. @throws Error with all that it printed, as that is what the developer needs */
export async function runTool(what: string, program: string, args: string[], options: ExecOptions = {}): Promise<void> {
  const { code, stdout, stderr } = await tryRun(program, args, options);
  if (code !== 0) throw new Error(`${what}: ${path.basename(program)} ended with ${code}\n${stdout}${stderr}`);
}

/**
 * A folder of the cache that is made once for each content of the files that say what is in it. One that was left half
 * made is made anew.
 */
export async function cachedFolder(
  name: string,
  definitions: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const contents = await Promise.all(definitions.map((file) => readFile(file, "utf8")));
  const folder = path.join(cacheFolder(), "languages", `${name}-${sha256(contents.join("\n")).slice(0, 16)}`);
  const done = path.join(folder, ".made");
  if (existsSync(done)) return folder;
  await withLock(`${folder}.lock`, `preparing ${name}`, async () => {
    if (existsSync(done)) return;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await make(folder);
    await writeFile(done, "");
  });
  return folder;
}
