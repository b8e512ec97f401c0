import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

/** What the kernel knows of a pod, where the nodes' processes are this machine's own (local backend). */

/** The processes of a pod, by the pod's UID. */
export async function processesOf(podUid: string): Promise<number[]> {
  const all = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const groups = await Promise.all(all.map((pid) => text(`/proc/${pid}/cgroup`)));
  return all.filter((_, index) => groups[index]?.includes(podUid)).map(Number);
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
