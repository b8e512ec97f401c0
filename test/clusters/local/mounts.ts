import { mkdirSync, readFileSync } from "node:fs";
import { run, tryRun } from "../support/exec.js";

/** Makes a folder visible at a second path, once. */
export async function ensureBindMount(folder: string, target: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  mkdirSync(target, { recursive: true });
  if (!mountPoints().includes(target)) await run("mount", ["--bind", folder, target]);
}

/** Unmounts everything below these folders, the latest first; what is in use goes as soon as it is free. */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  const points = mountPoints().filter((point) => folders.some((folder) => point.startsWith(`${folder}/`)));
  // The latest mount may lie on an earlier one.
  points.reverse();
  if (points.length === 0) return;
  if ((await tryRun("umount", points)).code !== 0) await tryRun("umount", ["--lazy", ...points]);
}

/** In the order of their mounting. */
function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    );
}
