import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readJson, sha256, writeAtomically } from "../support/files.js";
import { end, findByEnvironment, identify, isRunning, programOf, type ProcessIdentity } from "../support/processes.js";
import { Hopeless } from "../support/wait.js";
import { clusterFolder, clusterPaths, netnsPath } from "./paths.js";

/**
 * The long-running programs of a cluster. Each is detached from the run that starts it and recorded by process id and
 * start time; its environment names the cluster, so that one whose start was not recorded any more is found too.
 */
const MARK = "PULUMI_LIQO_CLUSTER";

export interface Program {
  /** Unique in the cluster, as kubelet-consumer-1. */
  name: string;
  node: string;
  command: string;
  args: string[];
  env?: Record<string, string>;
  /** Contents of files it reads at start: a change restarts it. */
  configuration?: string;
}

interface ProcessRecord extends ProcessIdentity {
  /** Of command, arguments and configuration. */
  hash: string;
}

const markOf = (cluster: string, program: string): string => `${clusterFolder(cluster)}#${program}`;
const recordPath = (cluster: string, program: string): string =>
  join(clusterPaths(cluster).processes, `${program}.json`);
export const logPath = (cluster: string, program: string): string => join(clusterPaths(cluster).logs, `${program}.log`);

/** Starts a program unless it runs already as described. True when it was started. */
export function ensureProgram(cluster: string, program: Program): boolean {
  const hash = sha256(JSON.stringify([program.command, program.args, program.env, program.configuration]));
  const recorded = readJson<ProcessRecord>(recordPath(cluster, program.name));
  if (recorded && isRunning(recorded) && recorded.hash === hash) return false;
  if (recorded) end(recorded);
  findByEnvironment(MARK, (mark) => mark === markOf(cluster, program.name))
    .filter((found) => !isDescendant(program, found))
    .forEach(end);
  start(cluster, program, hash);
  return true;
}

/** containerd's shims inherit its environment and must outlive its restart, as the pods do. */
function isDescendant(program: Program, found: ProcessIdentity): boolean {
  return program.name.startsWith("containerd-") && programOf(found.pid)?.includes("/containerd-shim") === true;
}

function start(cluster: string, program: Program, hash: string): void {
  mkdirSync(clusterPaths(cluster).logs, { recursive: true });
  const log = openSync(logPath(cluster, program.name), "a");
  try {
    const child = spawn("nsenter", [`--net=${netnsPath(program.node)}`, program.command, ...program.args], {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log, log],
      env: { PATH: process.env.PATH, HOME: "/", ...program.env, [MARK]: markOf(cluster, program.name) },
    });
    child.on("error", () => undefined);
    child.unref();
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (!identity) throw new Error(`cluster ${cluster}: ${program.name} did not start: ${program.command}`);
    const record: ProcessRecord = { ...identity, hash };
    writeAtomically(recordPath(cluster, program.name), JSON.stringify(record));
  } finally {
    closeSync(log);
  }
}

/** Names of a cluster's programs that are recorded but do not run. */
export function deadPrograms(cluster: string): string[] {
  return recordedPrograms(cluster).filter((name) => {
    const recorded = readJson<ProcessRecord>(recordPath(cluster, name));
    return !recorded || !isRunning(recorded);
  });
}

/** An error with the end of its log when a program has ended by itself, so that nobody waits for it. */
export function assertRunning(cluster: string, name: string): void {
  if (!deadPrograms(cluster).includes(name)) return;
  const lines = existsSync(logPath(cluster, name))
    ? readFileSync(logPath(cluster, name), "utf8").trimEnd().split("\n")
    : [];
  throw new Hopeless(
    `cluster ${cluster}: ${name} ended by itself; the end of ${logPath(cluster, name)}:\n${lines.slice(-5).join("\n")}`,
  );
}

/** Ends one program of a cluster, for instance before its configuration changes. */
export function endProgram(cluster: string, name: string): void {
  const recorded = readJson<ProcessRecord>(recordPath(cluster, name));
  if (recorded) end(recorded);
}

/** Everything of a cluster that still runs and is known by its environment: programs, recorded or not, and shims. */
export function marked(cluster: string): ProcessIdentity[] {
  return findByEnvironment(MARK, (mark) => mark.startsWith(`${clusterFolder(cluster)}#`));
}

export function recordedPrograms(cluster: string): string[] {
  const folder = clusterPaths(cluster).processes;
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .map((file) => file.slice(0, -".json".length));
}
