import type { Run } from "./command.js";

/** Marks routes and rules as ours ("protocol" of rtnetlink), so that nothing else is ever removed. */
export const ROUTE_PROTOCOL = 76;

/** Runs lines of iproute2 commands in one process. All lines are tried; one that fails makes the promise reject at the end. */
export async function ipBatch(run: Run, lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await run("ip", ["-force", "-batch", "-"], `${lines.join("\n")}\n`);
}

/** Runs an iproute2 query; the answer is a list, empty when there is nothing (iproute2 prints nothing then). */
export async function ipQuery<T>(run: Run, args: readonly string[]): Promise<T[]> {
  const text = await run("ip", ["-j", ...args]);
  return text.trim() === "" ? [] : (JSON.parse(text) as T[]);
}
