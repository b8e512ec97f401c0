import { spawn } from "node:child_process";
import { once } from "node:events";
import { ensureTool } from "../clusters/index.js";
import type { LabCluster } from "./lab.js";

/** Runs the real `kubectl port-forward` to a pod's port while the work is done, which is given the local port. */
export async function throughPortForward<T>(
  { cluster }: LabCluster,
  pod: { namespace: string; name: string; port: number },
  work: (localPort: number) => Promise<T>,
  deadlineMs = 20_000,
): Promise<T> {
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const command = ["port-forward", "-n", pod.namespace, `pod/${pod.name}`, `:${pod.port}`];
  const child = spawn(await ensureTool("kubectl"), [...access, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  try {
    const localPort = await new Promise<number>((resolve, reject) => {
      let output = "";
      const fail = (why: string): void => reject(new Error(`kubectl ${command.join(" ")}: ${why}: ${output.trim()}`));
      const timer = setTimeout(() => fail(`no port within ${deadlineMs / 1000} s`), deadlineMs);
      const read = (text: string): void => {
        output += text;
        const port = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)?.[1];
        if (port === undefined) return;
        clearTimeout(timer);
        resolve(Number(port));
      };
      child.stdout.setEncoding("utf8").on("data", read);
      child.stderr.setEncoding("utf8").on("data", read);
      child.on("close", () => {
        clearTimeout(timer);
        fail("it ended");
      });
    });
    return await work(localPort);
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}
