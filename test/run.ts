import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onInterruption } from "./support/interruption.js";

/**
 * The test command. Without arguments: formatter, linter, types, generated files, then unit, integration and end-to-end tests.
 * `npm test -- unit`, `-- integration`, `-- e2e`, `-- static` run one part; further arguments go to mocha (`--grep text`).
 * Ends with a line of its own: "N passed, N failed".
 */
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** What failed, told once more at the end: of a long log, often the end alone is read. */
const failures: Failure[] = [];

interface Failure {
  name: string;
  /** The error, or the end of what a check printed. */
  detail: string;
}

const SUITES = ["unit", "integration", "e2e"] as const;
type Suite = (typeof SUITES)[number];

interface StaticCheck {
  name: string;
  command: string[];
}

/** The longest first. */
const STATIC_CHECKS: readonly StaticCheck[] = [
  { name: "linter", command: ["npx", "eslint", "."] },
  { name: "formatter", command: ["npx", "prettier", "--check", "--log-level", "warn", "."] },
  { name: "types", command: ["npx", "tsc", "--noEmit"] },
  { name: "TypeScript examples: types", command: language("nodejs") },
  { name: "Python SDK and example: loaded, types", command: language("python") },
  { name: "Go SDK and example: compiled, vetted", command: language("go") },
  { name: "Java SDK and example: compiled", command: language("java") },
  { name: "C# SDK and example: compiled", command: language("dotnet") },
  { name: "generated files are up to date", command: ["node", "--import", "tsx", "scripts/generate.ts", "--check"] },
];

/** A check of one language's SDK and examples; see test/languages. */
function language(name: string): string[] {
  return ["node", "--import", "tsx", "test/languages/main.ts", name];
}

/** What a check ends with that could not be done here and has said why. */
const SKIPPED = 77;

/** Each file has API servers of its own, and mostly waits for them. */
const AT_ONCE = ["--parallel", "--jobs", "3"];

/** Bounds for a part that hangs, in minutes. */
const LIMITS: Record<Suite | "preparation", number> = { preparation: 40, unit: 15, integration: 60, e2e: 90 };

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const parts: string[] = args.filter((arg) => arg === "static" || isSuite(arg));
  const mochaArgs = args.filter((arg) => !parts.includes(arg));
  const everything = parts.length === 0;
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  // Beside what needs none of it: from cold it takes many minutes.
  const preparation = everything || parts.includes("integration") || parts.includes("e2e") ? prepare() : undefined;
  if (parts.includes("static") || (everything && mochaArgs.length === 0)) add(total, await runStaticChecks());
  for (const suite of SUITES) {
    if (interrupted || (!everything && !parts.includes(suite))) continue;
    if (suite !== "unit") await preparation;
    if (interrupted) break;
    add(total, await runSuite(suite, mochaArgs));
  }
  await preparation;
  for (const { name, detail } of failures) console.log(`\n✘ ${name}\n${detail.replace(/^/gm, "    ")}`);
  if (total.skipped > 0) console.log(`\n${total.skipped} skipped`);
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  process.exit(interrupted || total.failed > 0 || total.passed === 0 ? 1 : 0);
}

/** Two at a time, as each uses one processor for the most part. */
async function runStaticChecks(): Promise<Counts> {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const left = [...STATIC_CHECKS];
  const worker = async (): Promise<void> => {
    for (let check = left.shift(); check && !interrupted; check = left.shift()) await runStaticCheck(check, counts);
  };
  await Promise.all([worker(), worker()]);
  return counts;
}

async function runStaticCheck({ name, command }: StaticCheck, counts: Counts): Promise<void> {
  const started = Date.now();
  const output: string[] = [];
  const code = await run(command, process.env, 10, output);
  const printed = output.join("").trimEnd();
  if (printed !== "") console.log(printed);
  console.log(`${code === 0 ? "✔" : code === SKIPPED ? "− skipped:" : "✘"} ${name} (${seconds(started)})`);
  if (code === 0) counts.passed += 1;
  else if (code === SKIPPED) counts.skipped += 1;
  else {
    counts.failed += 1;
    failures.push({ name, detail: printed.split("\n").slice(-LINES_TOLD).join("\n") });
  }
}

/** Of what a failed check printed. */
const LINES_TOLD = 40;

/** Takes what processor time is left, as tests run beside it. What cannot be had fails the tests that need it. */
async function prepare(): Promise<void> {
  const started = Date.now();
  console.log("preparation begins");
  const command = ["nice", "-n", "19", "node", "--import", "tsx", "test/prepare.ts"];
  const code = await run(command, process.env, LIMITS.preparation);
  console.log(`preparation: ${code === 0 ? "everything is at hand" : "failed"} (${seconds(started)})`);
}

async function runSuite(suite: Suite, mochaArgs: string[]): Promise<Counts> {
  console.log(`\n── ${suite} tests ──`);
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-test-"));
  const countsFile = path.join(folder, "counts.json");
  const mocha = [
    "npx",
    "mocha",
    "--reporter",
    "test/support/counting-reporter.cjs",
    ...(suite === "integration" ? AT_ONCE : []),
    ...mochaArgs,
    `test/${suite}/**/*.test.ts`,
  ];
  const coverage = [
    "npx",
    "c8",
    "--reporter",
    "text-summary",
    "--include",
    "agent/**",
    "--include",
    "provider/**",
    "--include",
    "cli/**",
    "--temp-directory",
    folder,
  ];
  const started = Date.now();
  const code = await run(
    suite === "unit" ? [...coverage, ...mocha] : mocha,
    { ...process.env, COUNTS_FILE: countsFile },
    LIMITS[suite],
  );
  const { counts, ended } = readCounts(countsFile);
  // A run that died before its end must not look like one that passed.
  if (!ended || (counts.failed === 0 && code !== 0)) {
    counts.failed += 1;
    failures.push({ name: `${suite} tests`, detail: `ended with code ${code} before they were through` });
  }
  rmSync(folder, { recursive: true, force: true });
  console.log(`${suite}: ${counts.passed} passed, ${counts.failed} failed (${seconds(started)})`);
  return counts;
}

/** What a suite has counted, and whether it came to its end. */
function readCounts(file: string): { counts: Counts; ended: boolean } {
  if (!existsSync(file)) return { counts: { passed: 0, failed: 0, skipped: 0 }, ended: false };
  const told = JSON.parse(readFileSync(file, "utf8")) as {
    passes: number;
    failures: Failure[];
    pending: number;
    ended: boolean;
  };
  failures.push(...told.failures);
  return { counts: { passed: told.passes, failed: told.failures.length, skipped: told.pending }, ended: told.ended };
}

/** For everything together, in minutes. */
const LIMIT_OF_ALL = 58;
const startedAt = Date.now();
/** After that no further part is begun. */
let interrupted = false;

/**
 * Runs to the end or to the limit (minutes); a part over its limit is told to end and counts as failed.
 * With `output`, what it prints is kept there instead of printed.
 */
function run(command: string[], env: NodeJS.ProcessEnv, limit: number, output?: string[]): Promise<number> {
  const minutes = Math.max(0.1, Math.min(limit, LIMIT_OF_ALL - (Date.now() - startedAt) / 60_000));
  const [program = "", ...args] = command;
  return new Promise((resolve) => {
    const stdio = output === undefined ? "inherit" : "pipe";
    const child = spawn(program, args, { stdio: ["ignore", stdio, stdio], env, detached: true });
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => output?.push(text));
    const timer = setTimeout(() => {
      console.log(`over its limit of ${minutes.toFixed(0)} minutes: ended`);
      endGroup(child.pid, "SIGTERM");
      setTimeout(() => endGroup(child.pid, "SIGKILL"), 10_000).unref();
    }, minutes * 60_000);
    const noMore = onInterruption((isAgain) => {
      interrupted = true;
      if (!isAgain) console.log("\ninterrupted: what runs is taken down");
      endGroup(child.pid, isAgain ? "SIGKILL" : "SIGINT");
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      noMore();
      resolve(code ?? 1);
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      noMore();
      console.log(`${program}: ${error.message}`);
      resolve(1);
    });
  });
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended by itself.
  }
}

function isSuite(value: string): value is Suite {
  return SUITES.some((suite) => suite === value);
}

function add(total: Counts, more: Counts): void {
  total.passed += more.passed;
  total.failed += more.failed;
  total.skipped += more.skipped;
}

function seconds(started: number): string {
  return `${((Date.now() - started) / 1000).toFixed(1)} s`;
}

await main();
