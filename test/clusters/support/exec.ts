import { spawn } from "node:child_process";

export interface ExecOptions {
  input?: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Milliseconds before the program is ended; default 10 minutes. */
  timeout?: number;
}

/** Runs a program to its end and gives what it printed; an exit code other than 0 is an error with the end of its output. */
export async function run(command: string, args: readonly string[], options: ExecOptions = {}): Promise<string> {
  const result = await tryRun(command, args, options);
  if (result.code !== 0) {
    throw new Error(`${command} ${args.join(" ")} ended with ${result.code}: ${tail(result.stderr || result.stdout)}`);
  }
  return result.stdout;
}

export interface ExecResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Like run, but an exit code other than 0 (127: there is no such program, 124: out of time) is an answer. */
export function tryRun(command: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    let outOfTime = false;
    const timer = setTimeout(() => {
      outOfTime = true;
      child.kill("SIGKILL");
    }, options.timeout ?? 600_000);
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve({ code: 127, stdout, stderr: error.message });
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: outOfTime ? 124 : (code ?? 137), stdout, stderr: outOfTime ? `${stderr}\nout of time` : stderr });
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}

function tail(text: string): string {
  return text.trim().split("\n").slice(-8).join("\n");
}
