import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** A process told apart from every later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot, field 22 of /proc/PID/stat. */
  startTime: string;
  bootId: string;
}

const bootId = (): string => readText("/proc/sys/kernel/random/boot_id").trim();

/** The identity of a running process, or undefined when there is none (a zombie counts as none). */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  // The command name may hold blanks and brackets, so fields are counted from its closing bracket: state is field 3.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const startTime = fields[19];
  if (!startTime || fields[0] === "Z" || fields[0] === "X") return undefined;
  return { pid, startTime, bootId: bootId() };
}

/** True while the very process that was recorded runs. */
export function isRunning(recorded: ProcessIdentity): boolean {
  const now = identify(recorded.pid);
  return now !== undefined && now.startTime === recorded.startTime && now.bootId === recorded.bootId;
}

/** Ends one process at once, and only if it is the recorded one. */
export function end(recorded: ProcessIdentity): void {
  if (!isRunning(recorded)) return;
  try {
    process.kill(recorded.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Processes whose environment, as they were started with, holds `name=value` with a value that the test accepts. */
export function findByEnvironment(name: string, accept: (value: string) => boolean): ProcessIdentity[] {
  const found: ProcessIdentity[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const variable = readText(`/proc/${entry}/environ`)
      .split("\0")
      .find((line) => line.startsWith(`${name}=`));
    if (variable === undefined || !accept(variable.slice(name.length + 1))) continue;
    const identity = identify(Number(entry));
    if (identity) found.push(identity);
  }
  return found;
}

/** The program file a process runs, or undefined. */
export function programOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** Empty for what has gone meanwhile. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
