import { spawn } from "node:child_process";

/** Runs a program to its end and gives its standard output. Rejects with a CommandError when it fails. */
export type Run = (program: string, args: readonly string[], input?: string) => Promise<string>;

/** A program that failed; the message has its standard error, never its input (which may hold keys). */
export class CommandError extends Error {
  constructor(
    program: string,
    args: readonly string[],
    readonly exitCode: number | null,
    readonly standardError: string,
    readonly output = "",
  ) {
    const why = standardError.trim().split("\n").slice(0, 5).join("; ") || `exit code ${exitCode}`;
    super(`${[program, ...args].join(" ").slice(0, 200)}: ${why}`);
    this.name = "CommandError";
  }
}

const DEADLINE_MS = 20_000;

/** Runs programs in this process's own namespaces, or behind a prefix such as `nsenter --net=…`. */
export function commandRunner(prefix: readonly string[] = []): Run {
  return (program, args, input) =>
    new Promise((resolve, reject) => {
      const [file = program, ...rest] = [...prefix, program, ...args];
      const child = spawn(file, rest, { stdio: ["pipe", "pipe", "pipe"], timeout: DEADLINE_MS, killSignal: "SIGKILL" });
      let output = "";
      let errors = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
      child.on("error", (error) => reject(new CommandError(program, args, null, error.message)));
      child.on("close", (code) => {
        if (code === 0) resolve(output);
        else reject(new CommandError(program, args, code, errors, output));
      });
      // A program that ends without reading its input is judged by its exit code.
      child.stdin.on("error", () => undefined);
      child.stdin.end(input ?? "");
    });
}
