import { spawn } from "node:child_process";
import { once } from "node:events";
import { ensureTool } from "../clusters/index.js";
import type { LabCluster } from "./lab.js";

/** For what is waited for. */
const DEADLINE_MS = 60_000;

export interface KubectlSession<F, T> {
  /** After kubectl's own access to the cluster. */
  command: readonly string[];
  /** Said at the start. The input stays open until the end. */
  input?: string;
  /** What is waited for, in words. */
  what: string;
  /** Finds it in all that was printed so far. */
  find: (output: string) => F | undefined;
  /** Done while kubectl runs on. */
  work: (found: F) => Promise<T> | T;
  /** More of its environment. */
  env?: NodeJS.ProcessEnv;
}

/** Runs the real kubectl, which would not end by itself, until it has printed what is waited for and the work is done. */
export async function withKubectl<F, T>({ cluster }: LabCluster, session: KubectlSession<F, T>): Promise<T> {
  const { command, input, what, find, work, env } = session;
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const child = spawn(await ensureTool("kubectl"), [...access, ...command], {
    stdio: "pipe",
    env: { ...process.env, ...env },
  });
  const ended = once(child, "close");
  try {
    const found = await new Promise<F>((resolve, reject) => {
      let output = "";
      const fail = (why: string): void => reject(new Error(`kubectl ${command.join(" ")}: ${why}: ${output.trim()}`));
      const timer = setTimeout(() => fail(`no ${what} within ${DEADLINE_MS / 1000} s`), DEADLINE_MS);
      const read = (text: string): void => {
        output += text;
        const result = find(output);
        if (result === undefined) return;
        clearTimeout(timer);
        resolve(result);
      };
      child.stdout.setEncoding("utf8").on("data", read);
      child.stderr.setEncoding("utf8").on("data", read);
      child.on("close", () => {
        clearTimeout(timer);
        fail("it ended");
      });
      child.stdin.on("error", () => undefined);
      if (input !== undefined) child.stdin.write(input);
    });
    return await work(found);
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}
