import { spawn } from "node:child_process";

export interface ExecOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  input?: string;
  /** The program never hears that its input has ended. */
  keepsInputOpen?: boolean;
  /** Milliseconds; the program is killed after them and the call fails. Default 120000. */
  timeoutMs?: number;
  /** Each line of output as it comes, for progress. */
  onLine?: (line: string) => void;
  /** Resolve instead of throwing when the program fails. */
  allowFailure?: boolean;
  signal?: AbortSignal;
  /** Tells the program to end, as Ctrl-C would; it is waited for. A terminal's own Ctrl-C does not reach it then: many take a second one to mean at once. */
  interruption?: AbortSignal;
}

export interface ExecResult {
  stdout: string;
  stderr: string;
  code: number;
}

/** Runs a program to its end and returns what it printed. Throws with its last lines when it fails. */
export function exec(program: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  const timeoutMs = options.timeoutMs ?? 120_000;
  return new Promise((resolve, reject) => {
    const { cwd, env, signal, interruption } = options;
    const child = spawn(program, args, { cwd, env, signal, stdio: "pipe", detached: interruption !== undefined });
    const interrupt = (): void => void child.kill("SIGINT");
    interruption?.addEventListener("abort", interrupt);
    const output = { stdout: "", stderr: "" };
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    for (const name of ["stdout", "stderr"] as const) {
      let rest = "";
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) options.onLine?.(line);
      });
    }
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${program}: ${error.message}`));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      interruption?.removeEventListener("abort", interrupt);
      const result = { ...output, code: code ?? -1 };
      if (code === 0 || (options.allowFailure && !timedOut)) return resolve(result);
      const why = timedOut ? `did not end within ${timeoutMs / 1000} s` : `exit code ${code}`;
      const last = (output.stderr.trim() || output.stdout.trim()).split("\n").slice(-15).join("\n");
      reject(new Error(`${program} ${args.slice(0, 6).join(" ")}: ${why}\n${last}`));
    });
    child.stdin.on("error", () => undefined);
    if (!options.keepsInputOpen) child.stdin.end(options.input);
  });
}
