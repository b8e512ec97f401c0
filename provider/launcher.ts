import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import vm from "node:vm";
import { keepHeapSmall } from "../agent/runtime/small-heap.js";

/** Replaced by the build: a digest of the bundle, as V8 itself compares no more than its length. */
declare const BUNDLE_DIGEST: string;

/**
 * A command is over before code that V8 optimizes for speed pays for its making, in time and in memory: everything is compiled once, and simply. Without it a
 * command over twenty new Peerings takes an eighth more of the processor and 14 MiB more.
 */
const COMPILED_ONCE = ["--no-opt", "--always-sparkplug"] as const;

/**
 * The executable of the plugin. The engine starts plugins anew for every command, and most of that time goes into
 * compiling: the bundle is therefore run with the code that V8 kept from an earlier run of the same Node.js. A run
 * that finds none keeps its own when it ends in order; a folder that cannot be written to only costs the time.
 */
function launch(): void {
  // Before any code is kept or taken up: V8 compares its settings as well.
  for (const flag of COMPILED_ONCE) setFlagsFromString(flag);
  const folder = __dirname;
  const filename = path.join(folder, "provider.cjs");
  const cacheFile = path.join(folder, `provider-${BUNDLE_DIGEST}-${process.version}-${process.arch}.cache`);
  const cachedData = readIfThere(cacheFile);
  const script = new vm.Script(
    `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, "utf8")}\n})`,
    { filename, cachedData },
  );
  const isCompiled = cachedData !== undefined && !script.cachedDataRejected;
  if (!isCompiled) process.once("exit", () => keep(cacheFile, script));
  const module = { exports: {} };
  const run = script.runInThisContext() as (...scope: unknown[]) => void;
  run(module.exports, createRequire(filename), module, filename, folder);
  // A command over many resources fills the heap faster than it needs it. Not before, as a start is all haste; nor where code is kept, which V8 takes up again
  // under the same settings only.
  if (isCompiled) keepHeapSmall();
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function keep(file: string, script: vm.Script): void {
  try {
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, script.createCachedData());
    renameSync(temporary, file);
  } catch {
    // The next run compiles again.
  }
}

/** The oldest Node.js that the bundle is made for; `engines` in package.json and the build's target say the same. */
const OLDEST_NODE = [20, 19] as const;

/** Why this Node.js will not do; undefined when it does. The bundle itself would end with an error of syntax. */
function nodeIsTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `pulumi-resource-liqo: Node.js ${OLDEST_NODE.join(".")} or later is needed; ${process.execPath} is ${version}`;
}

const reason = nodeIsTooOld(process.versions.node);
if (reason === undefined) {
  launch();
} else {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
}
