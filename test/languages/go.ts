import { which } from "../clusters/support/packages.js";
import type { LanguageCheck } from "./index.js";
import { example, runTool, sdk } from "./toolchain.js";

/** Without paths in the results, so that a checkout elsewhere finds what this one has compiled. */
const FLAGS = ["-trimpath", "-buildvcs=false"];
const ENV = { ...process.env, CGO_ENABLED: "0" };

/** Compiles the SDK, then compiles and vets the example. */
export const checkGo: LanguageCheck = async (progress) => {
  const go = goProgram();
  await progress.step("the Go SDK", () => runTool("the Go SDK", go, ["build", ...FLAGS, "./..."], options(sdk("go"))));
  const folder = example("peer-two-clusters-go");
  await progress.step("the Go example", () =>
    runTool("the Go example", go, ["vet", ...FLAGS, "./..."], options(folder)),
  );
  return { checked: true };
};

/** Builds an example's program into a file. */
export async function buildGoExample(name: string, output: string): Promise<void> {
  await runTool(`the Go example ${name}`, goProgram(), ["build", ...FLAGS, "-o", output, "."], options(example(name)));
}

function goProgram(): string {
  const go = which("go", ["/usr/local/go/bin"]);
  if (!go) throw new Error("The Go SDK is compiled with Go: install Go 1.24 or later (https://go.dev/dl/)");
  return go;
}

function options(cwd: string): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd, env: ENV };
}
