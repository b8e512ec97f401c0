import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { podUidOf } from "../support/agent-processes.js";

/** Of /proc/PID/stat and /proc/stat: hundredths of a second. */
export const TICKS_PER_SECOND = 100;

/** The processes of a pod, by the pod's UID. */
export function processesOf(podUid: string): Promise<number[]> {
  return processesOfAll([podUid]);
}

/** The processes of many pods, by their UIDs, in one look: where the nodes' processes are this machine's own (local backend). */
export async function processesOfAll(podUids: readonly string[]): Promise<number[]> {
  const wanted = new Set(podUids);
  const all = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const groups = await Promise.all(all.map((pid) => text(`/proc/${pid}/cgroup`)));
  return all.filter((_, index) => wanted.has(podUidOf(groups[index] ?? ""))).map(Number);
}

/** User and system time in seconds, also of children that have ended. */
export function processorSeconds(processes: readonly number[]): Promise<number> {
  return sum(processes, async (pid) => {
    const fields = (await text(`/proc/${pid}/stat`)).replace(/^.*\) /, "").split(" ");
    return fields.slice(11, 15).reduce((all, ticks) => all + Number(ticks), 0) / TICKS_PER_SECOND;
  });
}

/** Memory in MiB: of what several processes share, each counts its part. */
export async function proportionalMiB(processes: readonly number[]): Promise<number> {
  const kibibytes = await sum(processes, async (pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(await text(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
  );
  return kibibytes / 1024;
}

async function sum(processes: readonly number[], of: (pid: number) => Promise<number>): Promise<number> {
  return (await Promise.all(processes.map(of))).reduce((all, value) => all + value, 0);
}

/** The folders of a pod's control groups, in every hierarchy that this machine has. @throws Error when the pod has no process here */
export async function controlGroupsOf(podUid: string): Promise<string[]> {
  const [pid] = await processesOf(podUid);
  if (pid === undefined) throw new Error(`no process of pod ${podUid} on this machine`);
  const lines = (await text(`/proc/${pid}/cgroup`)).trim().split("\n");
  return lines.flatMap((line) => {
    const [, controllers = "", group = ""] = line.split(":");
    const folder = path.join("/sys/fs/cgroup", controllers.replace(/^name=/, ""), group);
    return existsSync(path.join(folder, "cgroup.procs")) ? [folder] : [];
  });
}

/** Empty for what has gone meanwhile. */
export async function text(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}
