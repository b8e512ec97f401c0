import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** An example as a user has it: compiled, beside the SDK that it imports. */
export interface CompiledExample {
  /** Where its files are. */
  folder: string;
  /** Loads one of the example's files, "program" for program.ts. */
  load<T>(file: string): T;
  remove(): Promise<void>;
}

/**
 * Compiles an example and the generated SDK as TypeScript itself does. (The SDK loads its classes lazily through `exports`, which other compilers replace.)
 */
export async function compileExample(name: string): Promise<CompiledExample> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-example-"));
  const modules = path.join(folder, "node_modules");
  const sdk = path.join(modules, "pulumi-liqo");
  await mkdir(sdk, { recursive: true });
  await symlink(path.join(REPOSITORY, "node_modules", "@pulumi"), path.join(modules, "@pulumi"));
  await compileFolder(path.join(REPOSITORY, "sdk", "nodejs"), sdk);
  await cp(path.join(REPOSITORY, "sdk", "nodejs", "package.json"), path.join(sdk, "package.json"));
  await compileFolder(path.join(REPOSITORY, "examples", name), folder);
  const require = createRequire(path.join(folder, "index.js"));
  return {
    folder,
    load: <T>(file: string) => require(`./${file}.js`) as T,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function compileFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    if (entry.isDirectory() && !["node_modules", "bin"].includes(entry.name))
      await compileFolder(source, path.join(to, entry.name));
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
    const { outputText } = ts.transpileModule(await readFile(source, "utf8"), { compilerOptions });
    await writeFile(path.join(to, entry.name.replace(/\.ts$/, ".js")), outputText);
  }
}
