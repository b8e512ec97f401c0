import path from "node:path";
import { cacheFolder } from "../clusters/support/files.js";
import type { LanguageCheck } from "./index.js";
import { REPOSITORY, runTool } from "./toolchain.js";

/** Checks the types of all TypeScript examples, and of the SDK that they import, in one go. */
export const checkNodejs: LanguageCheck = async () => {
  const tsc = path.join(REPOSITORY, "node_modules/typescript/bin/tsc");
  // Kept from run to run: the packages that the examples import are large.
  const buildInfo = path.join(cacheFolder(), "languages", "examples.tsbuildinfo");
  const args = [tsc, "-p", path.join(REPOSITORY, "examples"), "--incremental", "--tsBuildInfoFile", buildInfo];
  await runTool("the TypeScript examples", process.execPath, args);
  return { checked: true };
};
