import { chmod, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { REPOSITORY } from "./toolchain.js";

/** Within the repository, so that packages are found from there. */
const PACKS = path.join(REPOSITORY, "dist/documentation/policy-packs");

/** Writes a policy pack of one TypeScript source, compiled. Resolves to its folder. */
export async function writePolicyPack(name: string, source: string): Promise<string> {
  const folder = path.join(PACKS, name);
  await mkdir(folder, { recursive: true });
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  await Promise.all([
    writeFile(path.join(folder, "PulumiPolicy.yaml"), "runtime: nodejs\n"),
    writeFile(
      path.join(folder, "package.json"),
      JSON.stringify({ name, version: "1.0.0", main: "index.js", type: "commonjs" }),
    ),
    writeFile(path.join(folder, "index.js"), outputText),
  ]);
  return folder;
}

/**
 * Pulumi's releases bring a host for policy packs in Node.js; a CLI that was built from its source has none, and starts this program instead, which runs the same
 * module of Pulumi's SDK. Resolves to the folder to put in the PATH.
 */
export async function policyHost(): Promise<string> {
  const folder = path.join(PACKS, "bin");
  await mkdir(folder, { recursive: true });
  const program = path.join(folder, "pulumi-analyzer-policy-nodejs");
  const module = path.join(REPOSITORY, "node_modules/@pulumi/pulumi/cmd/run-policy-pack/index.js");
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${module}" "$@"\n`);
  await chmod(program, 0o755);
  return folder;
}
