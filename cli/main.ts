import { setMaxListeners } from "node:events";
import { text } from "node:stream/consumers";
import { runProgram } from "./program.js";

async function main(): Promise<void> {
  const interrupt = new AbortController();
  // Every request listens to it.
  setMaxListeners(0, interrupt.signal);
  process.once("SIGINT", () => interrupt.abort());
  // A reader such as `head` may go before the end.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  // The code alone, no exit: what was written to a pipe must get through.
  process.exitCode = await runProgram(process.argv.slice(2), {
    out: (line) => void process.stdout.write(line),
    error: (line) => void process.stderr.write(line),
    env: process.env,
    folder: process.cwd(),
    isInteractive: process.stdout.isTTY === true,
    signal: interrupt.signal,
    input: () => text(process.stdin),
  });
}

void main();
