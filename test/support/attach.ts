import { withKubectl } from "./kubectl-session.js";
import type { LabCluster } from "./lab.js";

/**
 * Runs the real `kubectl attach`, tells the container something, and returns what has come back once it contains `answer`. Its input stays open until
 * then: at its end containerd closes the output, too, said or not.
 */
export function attachAndTell(
  lab: LabCluster,
  container: { namespace: string; pod: string; container: string },
  input: string,
  answer: string,
): Promise<string> {
  return withKubectl(lab, {
    command: ["attach", container.pod, "-n", container.namespace, "-c", container.container, "-i"],
    input,
    what: `answer "${answer.trim()}"`,
    find: (output) => (output.includes(answer) ? output : undefined),
    work: (output) => output,
  });
}
