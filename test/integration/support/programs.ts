import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** The end of what a program wrote to stderr, for messages. */
const KEPT_OUTPUT = 4000;

/** A program that runs for as long as the test does, and never longer. */
export interface Program {
  pid: number | undefined;
  /** Why it is not running any more, if so. */
  failure(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Starts a program that the kernel ends together with this process (setpriv's parent death signal), so that a test run
 * that is killed leaves nothing behind.
 */
export function startProgram(path: string, args: readonly string[]): Program {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", path, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const closed = once(child, "close").catch(() => undefined);
  let output = "";
  let startError: string | undefined;
  child.on("error", (error) => (startError = error.message));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  return {
    pid: child.pid,
    failure: () => startError ?? exitReason(child, output),
    stop: async () => {
      if (startError !== undefined) return;
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await closed;
    },
  };
}

function exitReason(child: ChildProcess, output: string): string | undefined {
  if (child.exitCode === null && child.signalCode === null) return undefined;
  return `ended with ${child.exitCode ?? child.signalCode}: ${output.trim().split("\n").slice(-5).join("\n")}`;
}

/** Port numbers on loopback that nothing listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
