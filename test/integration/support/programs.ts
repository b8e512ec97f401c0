import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { closeSync, openSync } from "node:fs";
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
 *
 * @param outputFile gets what it writes to stdout, behind what is in it
 */
export function startProgram(path: string, args: readonly string[], outputFile?: string): Program {
  const stdout = outputFile === undefined ? "ignore" : openSync(outputFile, "a");
  const child = spawn("setpriv", ["--pdeathsig", "KILL", path, ...args], { stdio: ["ignore", stdout, "pipe"] });
  if (typeof stdout === "number") closeSync(stdout);
  const closed = once(child, "close").catch(() => undefined);
  let output = "";
  let startError: string | undefined;
  child.on("error", (error) => (startError = error.message));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
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

/**
 * Below the ports that the kernel gives to outgoing connections (32768 and up, Linux' default) and to NodePorts: of those,
 * any may be taken by one of an API server's hundreds of connections to its etcd before the program listens on it.
 */
const PORTS = { from: 10_000, below: 30_000 };

/** Port numbers on loopback that nothing listens on. At random: test files run beside each other. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(PORTS.from, PORTS.below);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const free = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
