import { lineProgress } from "../clusters/support/progress.js";
import { messageOf } from "../../agent/runtime/kube-error.js";
import { checkDotnet } from "./dotnet.js";
import { checkGo } from "./go.js";
import type { LanguageCheck } from "./index.js";
import { checkJava } from "./java.js";
import { checkNodejs } from "./nodejs.js";
import { checkPython } from "./python.js";

const CHECKS: Readonly<Record<string, LanguageCheck>> = {
  nodejs: checkNodejs,
  python: checkPython,
  go: checkGo,
  dotnet: checkDotnet,
  java: checkJava,
};

/** What a program ends with that could not do its check, by the custom of other test tools. */
const SKIPPED = 77;

/** Checks one language: `main.ts python`. Ends with 0 (passed), 1 (failed) or 77 (skipped). */
async function main(language: string): Promise<number> {
  const check = CHECKS[language];
  if (!check) throw new Error(`no check for ${language || "no language"}; there are ${Object.keys(CHECKS).join(", ")}`);
  const outcome = await check(lineProgress());
  if (outcome.checked) return 0;
  process.stderr.write(`${outcome.why}\n`);
  return SKIPPED;
}

main(process.argv[2] ?? "").then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  },
);
