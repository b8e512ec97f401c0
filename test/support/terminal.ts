import { setMaxListeners } from "node:events";
import os from "node:os";
import { runProgram } from "../../cli/program.js";
import type { Terminal } from "../../cli/terminal.js";

export interface CommandResult {
  code: number;
  out: string;
  error: string;
}

/** Runs the command line within the test, with nothing of the user's environment. */
export async function runCommand(
  args: readonly string[],
  given: Partial<Terminal> & { stdin?: string } = {},
): Promise<CommandResult> {
  let [out, error] = ["", ""];
  const { signal } = new AbortController();
  // As in the real one: every request listens to it.
  setMaxListeners(0, signal);
  const code = await runProgram(args, {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
    env: { HOME: "/nowhere" },
    folder: os.tmpdir(),
    isInteractive: false,
    signal,
    input: () => Promise.resolve(given.stdin ?? ""),
    ...given,
  });
  return { code, out, error };
}
