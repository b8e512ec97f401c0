import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ensureTool } from "../clusters/index.js";
import { exec } from "./exec.js";
import type { LabCluster } from "./lab.js";

export interface TerminalSize {
  rows: number;
  columns: number;
}

/**
 * Runs the real kubectl in a terminal, as a person does, and returns what it has shown. The terminal has the first size from the start; it is resized to the
 * second once the text has been shown. `env` is more of its environment.
 */
export async function inTerminal(
  { cluster }: LabCluster,
  sizes: { first: TerminalSize; shown: string; second: TerminalSize },
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<string> {
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const command = [await ensureTool("kubectl"), ...access, ...args].map(quoted).join(" ");
  const folder = mkdtempSync(path.join(os.tmpdir(), "terminal-"));
  const record = path.join(folder, "shown");
  // The record's first line tells the command.
  const resize = `until tail -n +2 ${quoted(record)} | grep -q ${quoted(sizes.shown)}; do sleep 0.1; done; ${sized(sizes.second)}`;
  const script = `${sized(sizes.first)}; (${resize}) < /dev/tty & exec ${command}`;
  try {
    const args = ["--quiet", "--flush", "--return", "--command", script, record];
    // Its end would be typed, and read as a NUL once the terminal is raw.
    const options = { timeoutMs: 90_000, keepsInputOpen: true, env: { ...process.env, ...env } };
    return (await exec("script", args, options)).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function sized({ rows, columns }: TerminalSize): string {
  return `stty rows ${rows} cols ${columns}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
