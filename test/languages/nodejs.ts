import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { cacheFolder } from "../clusters/support/files.js";
import { codeBlocks } from "../support/code-blocks.js";
import type { LanguageCheck } from "./index.js";
import { writeSchemaExamples } from "./schema-examples.js";
import { REPOSITORY, runTool } from "./toolchain.js";

/** Within the repository, so that packages are found from there. */
const DOCUMENTATION = path.join(REPOSITORY, "dist/documentation");

/** What pages use of packages that are too large to install for that; see there. */
const DECLARATIONS = path.join(REPOSITORY, "test/languages/declarations");

/** Checks the types of all TypeScript examples, of the SDK that they import, and of every TypeScript block of the documentation, in one go. */
export const checkNodejs: LanguageCheck = async () => {
  const tsc = path.join(REPOSITORY, "node_modules/typescript/bin/tsc");
  await writeSchemaExamples("typescript", path.join(DOCUMENTATION, "schema"), "example.ts");
  await writeBlocks(path.join(DOCUMENTATION, "pages"));
  await cp(DECLARATIONS, path.join(DOCUMENTATION, "declarations"), { recursive: true });
  const project = {
    extends: "../../examples/tsconfig.json",
    include: ["../../examples/**/*.ts", "schema/**/*.ts", "pages/*.ts", "declarations/*.d.ts"],
  };
  await writeFile(path.join(DOCUMENTATION, "tsconfig.json"), JSON.stringify(project));
  // Kept from run to run: the packages that the examples import are large.
  const buildInfo = path.join(cacheFolder(), "languages", "examples.tsbuildinfo");
  const args = [tsc, "-p", DOCUMENTATION, "--incremental", "--tsBuildInfoFile", buildInfo];
  await runTool("the TypeScript examples and the documentation's", process.execPath, args);
  return { checked: true };
};

/** Each block as a file that is called after its place. */
async function writeBlocks(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // The reference shows the examples of the schema.
  const blocks = codeBlocks().filter((one) => one.language === "typescript" && !one.page.startsWith("docs/reference/"));
  for (const { page, line, text } of blocks) {
    const name = `${page.replace(/\W/g, "-")}-${line}.ts`;
    await writeFile(path.join(folder, name), text);
  }
}
