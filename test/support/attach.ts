import { spawn } from "node:child_process";
import { once } from "node:events";
import { ensureTool } from "../clusters/index.js";
import type { LabCluster } from "./lab.js";

/**
 * Runs the real `kubectl attach`, tells the container something, and returns what has come back once it contains `answer`. Its input stays open until
 * then: at its end containerd closes the output, too, said or not.
 */
export async function attachAndTell(
  { cluster }: LabCluster,
  container: { namespace: string; pod: string; container: string },
  input: string,
  answer: string,
  deadlineMs = 20_000,
): Promise<string> {
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const command = ["attach", container.pod, "-n", container.namespace, "-c", container.container, "-i"];
  const child = spawn(await ensureTool("kubectl"), [...access, ...command], { stdio: "pipe" });
  const ended = once(child, "close");
  try {
    return await new Promise<string>((resolve, reject) => {
      let [output, errors] = ["", ""];
      const fail = (why: string): void =>
        reject(new Error(`kubectl ${command.join(" ")}: ${why}: ${output}${errors}`.trim()));
      const timer = setTimeout(() => fail(`no "${answer}" within ${deadlineMs / 1000} s`), deadlineMs);
      child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (!output.includes(answer)) return;
        clearTimeout(timer);
        resolve(output);
      });
      child.on("close", () => {
        clearTimeout(timer);
        fail("it ended");
      });
      child.stdin.on("error", () => undefined);
      child.stdin.write(input);
    });
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}
