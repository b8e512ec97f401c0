import { spawn } from "node:child_process";
import type { PulumiStack } from "./pulumi.js";

const DEADLINE_MS = 120_000;

/** How the CLI ended, and how long after the signal. */
export interface Interruption {
  signal: NodeJS.Signals | null;
  code: number | null;
  milliseconds: number;
}

/**
 * Starts `pulumi up` or `pulumi destroy`, and signals the CLI when what it has printed matches, or something else has happened.
 *
 * @throws Error when it ends before, or that does not come within two minutes
 */
export function interrupt(
  stack: PulumiStack,
  operation: "up" | "destroy",
  when: RegExp | Promise<unknown>,
  signal: "SIGKILL" | "SIGINT",
): Promise<Interruption> {
  const { program, args, env, cwd } = stack.command([operation, "--yes", "--skip-preview"]);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let signalled = 0;
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      const what = when instanceof RegExp ? `printed nothing like ${when}` : "did not come to that";
      reject(new Error(`pulumi ${operation} ${what} within ${DEADLINE_MS / 1000} s:\n${output}`));
    }, DEADLINE_MS);
    const send = (): void => {
      if (signalled || child.exitCode !== null) return;
      signalled = Date.now();
      child.kill(signal);
    };
    const look = (text: string): void => {
      output += text;
      if (when instanceof RegExp && when.test(output)) send();
    };
    if (!(when instanceof RegExp)) void when.then(send, reject);
    child.stdout.setEncoding("utf8").on("data", look);
    child.stderr.setEncoding("utf8").on("data", look);
    child.on("exit", (code, exitSignal) => {
      clearTimeout(timer);
      if (!signalled) reject(new Error(`pulumi ${operation} ended before it could be interrupted:\n${output}`));
      else resolve({ signal: exitSignal, code, milliseconds: Date.now() - signalled });
    });
  });
}
