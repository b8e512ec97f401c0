import { cp } from "node:fs/promises";
import path from "node:path";
import { goEnvironment } from "../clusters/components/build.js";
import { requireGo } from "../clusters/support/go.js";
import type { LanguageCheck } from "./index.js";
import { writeSchemaExamples } from "./schema-examples.js";
import { example, REPOSITORY, runTool, sdk } from "./toolchain.js";

/** Without paths in the results, so that a checkout elsewhere finds what this one has compiled. */
const FLAGS = ["-trimpath", "-buildvcs=false"];

/** Compiles the SDK, then compiles and vets the example and those in its documentation. */
export const checkGo: LanguageCheck = async (progress) => {
  const go = goProgram();
  await progress.step("the Go SDK", () => runTool("the Go SDK", go, ["build", ...FLAGS, "./..."], options(sdk("go"))));
  const folder = example("peer-two-clusters-go");
  await progress.step("the Go example", () =>
    runTool("the Go example", go, ["vet", ...FLAGS, "./..."], options(folder)),
  );
  await progress.step("the examples of the Go SDK's documentation", () => vetDocumentation(go, folder));
  return { checked: true };
};

/** With what the example's module needs, as deep below the repository as that. */
async function vetDocumentation(go: string, exampleFolder: string): Promise<void> {
  const folder = path.join(REPOSITORY, "dist/go-documentation");
  await writeSchemaExamples("go", folder, "main.go");
  for (const file of ["go.mod", "go.sum"]) await cp(path.join(exampleFolder, file), path.join(folder, file));
  await runTool("the examples of the Go SDK's documentation", go, ["vet", ...FLAGS, "./..."], options(folder));
}

/** Builds an example's program into a file. */
export async function buildGoExample(name: string, output: string): Promise<void> {
  await runTool(`the Go example ${name}`, goProgram(), ["build", ...FLAGS, "-o", output, "."], options(example(name)));
}

function goProgram(): string {
  return requireGo("the Go SDK is compiled with Go", "1.24");
}

function options(cwd: string): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd, env: goEnvironment() };
}
