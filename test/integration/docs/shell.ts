import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Command } from "commander";
import { programFor } from "../../../cli/program.js";
import type { Terminal } from "../../../cli/terminal.js";
import { REPOSITORY } from "../../languages/toolchain.js";
import { exec } from "../../support/exec.js";
import type { ShellCommand } from "../../support/shell-commands.js";

/** What the programs of a block are checked with. */
export interface Surroundings {
  /** Of a cluster with an installed agent and a peer; no nodes, so that no pod runs. */
  kubeconfig: string;
  kubectl: string;
  /** The folder of the Pulumi CLI. */
  pulumiFolder: string;
  /** Of the page: what `cd` and files are relative to. */
  folder: string;
}

/** How far a command was checked. */
export type Outcome = "run" | "parsed" | "named";

/** What pages write for a name of the reader's own, and what there is here. */
const STANDS_FOR: Readonly<Record<string, string>> = { PEER: "provider", NAMESPACE: "demo" };

/** Programs that this project neither is nor brings; their command lines are not checked. */
const OF_OTHERS = new Set(["cd", "cp", "curl", "dotnet", "export", "go", "helm", "kind", "mvn", "pip"]);

/** Commands of kubectl that need pods which run: what they name must be there. */
const NEED_PODS = new Set(["logs", "exec", "rollout"]);
const CHANGE = new Set(["annotate", "apply", "create", "delete", "label", "patch"]);

/**
 * Checks a command as far as that can be done without changing anything.
 *
 * @throws Error that says what is wrong with it
 */
export async function checkCommand({ words }: ShellCommand, surroundings: Surroundings): Promise<Outcome> {
  const [program = "", ...given] = words.filter((word, i) => i > 0 || !/^\w+=/.test(word));
  const args = given.map((word) => STANDS_FOR[word] ?? word);
  if (program === "npm") return checkNpm(args, surroundings.folder);
  if (program === "npx") return checkNpx(args);
  if (program === "kubectl") return checkKubectl(args, surroundings);
  if (program === "pulumi") return checkPulumi(args, surroundings);
  if (OF_OTHERS.has(program)) return "named";
  throw new Error(`no check of the program ${program}`);
}

function checkNpm([command = "", script = ""]: string[], folder: string): Outcome {
  if (command === "install" || command === "ci") return "named";
  const name = command === "run" ? script : command;
  const found = [folder, REPOSITORY].some((one) => {
    const file = path.join(one, "package.json");
    if (!existsSync(file)) return false;
    const { scripts = {} } = JSON.parse(readFileSync(file, "utf8")) as { scripts?: Record<string, string> };
    return name in scripts;
  });
  if (!found) throw new Error(`package.json has no script ${name}`);
  return "parsed";
}

function checkNpx([program = "", ...args]: string[]): Outcome {
  if (program === "mocha") {
    if (!existsSync(path.join(REPOSITORY, args[0] ?? ""))) throw new Error(`there is no ${args[0]}`);
    return "parsed";
  }
  if (program !== "pulumi-liqo") throw new Error(`no check of the program ${program}`);
  const root = programFor({ out: () => undefined, error: () => undefined } as unknown as Terminal);
  const command = descend(root, args);
  if (command === root && !args[0]?.startsWith("-")) throw new Error(`pulumi-liqo has no command ${args[0]}`);
  const known = [...command.options.flatMap(({ long, short }) => [long, short]), "--help", "--version"];
  const unknown = flagsOf(args).find((flag) => !known.includes(flag));
  if (unknown) throw new Error(`pulumi-liqo ${command.name()} has no option ${unknown}`);
  return "parsed";
}

function descend(command: Command, [word = "", ...rest]: string[]): Command {
  const inner = command.commands.find((one) => one.name() === word);
  return inner ? descend(inner, rest) : command;
}

/** The options among the words, without their values. */
function flagsOf(args: readonly string[]): string[] {
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  return own.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.replace(/=.*$/s, ""));
}

async function checkKubectl(args: string[], { kubectl, kubeconfig, folder }: Surroundings): Promise<Outcome> {
  const [command = ""] = args;
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const run = (words: string[]) => exec(kubectl, words, { env, cwd: folder, timeoutMs: 60_000 });
  // What another command or the page itself would give: the manifests are checked there.
  if (args.includes("-f")) {
    await requireFlags(kubectl, ["apply"], args, env);
    return "parsed";
  }
  if (NEED_PODS.has(command)) {
    const named = args.find((word) => /^(deploy|deployment|daemonset|pod)\//.test(word));
    const namespace = args.includes("-n") ? ["-n", args[args.indexOf("-n") + 1] ?? ""] : [];
    if (named) await run(["get", named, ...namespace]);
    const subcommand = command === "rollout" ? args.slice(0, 2) : [command];
    await requireFlags(kubectl, subcommand, args, env);
    return named ? "run" : "parsed";
  }
  await run(CHANGE.has(command) ? [...args, "--dry-run=server"] : args);
  return "run";
}

async function checkPulumi(args: string[], { pulumiFolder, folder }: Surroundings): Promise<Outcome> {
  const firstFlag = args.findIndex((word) => word.startsWith("-"));
  const words = args.slice(0, firstFlag < 0 ? args.length : firstFlag).filter((word) => /^[a-z-]+$/.test(word));
  const env = { ...process.env, PULUMI_HOME: path.join(folder, ".pulumi-home"), PULUMI_SKIP_UPDATE_CHECK: "1" };
  await requireFlags(path.join(pulumiFolder, "pulumi"), words.slice(0, 2), args, env);
  return "parsed";
}

const helps = new Map<string, Promise<string>>();

/** The program's own help knows the command and each of its options. */
async function requireFlags(program: string, command: string[], args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const key = [program, ...command].join(" ");
  const asked = helps.get(key) ?? help(program, command, env);
  helps.set(key, asked);
  const text = await asked;
  const name = path.basename(program);
  if (!new RegExp(`^\\s*${name} ${command[0]}\\b`, "m").test(text))
    throw new Error(`${name} has no command ${command[0]}`);
  const unknown = flagsOf(args).find((flag) => !new RegExp(`(^|[\\s,])${flag}\\b`, "m").test(text));
  if (unknown) throw new Error(`${name} ${command.join(" ")} has no option ${unknown}`);
}

async function help(program: string, command: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout, stderr } = await exec(program, [...command, "--help"], {
    env,
    allowFailure: true,
    timeoutMs: 60_000,
  });
  if (path.basename(program) !== "kubectl") return stdout + stderr;
  const all = await exec(program, ["options"], { env });
  return stdout + stderr + all.stdout;
}
