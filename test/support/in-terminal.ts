import { ensureTool } from "../clusters/index.js";
import { exec } from "./exec.js";
import type { LabCluster } from "./lab.js";

/** Runs the real kubectl in a terminal of that size, as a person does, and returns what it has shown. */
export async function inTerminal(
  { cluster }: LabCluster,
  size: { rows: number; columns: number },
  args: readonly string[],
): Promise<string> {
  const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
  const command = [await ensureTool("kubectl"), ...access, ...args].map(quoted).join(" ");
  const script = `stty rows ${size.rows} cols ${size.columns}; exec ${command}`;
  return (await exec("script", ["--quiet", "--return", "--command", script, "/dev/null"], { timeoutMs: 30_000 }))
    .stdout;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
