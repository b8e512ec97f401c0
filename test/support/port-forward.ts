import { withKubectl } from "./kubectl-session.js";
import type { LabCluster } from "./lab.js";

/** Runs the real `kubectl port-forward` to a pod's port while the work is done, which is given the local port; `env` is more of its environment. */
export function throughPortForward<T>(
  lab: LabCluster,
  pod: { namespace: string; name: string; port: number },
  work: (localPort: number) => Promise<T>,
  env?: NodeJS.ProcessEnv,
): Promise<T> {
  return withKubectl(lab, {
    command: ["port-forward", "-n", pod.namespace, `pod/${pod.name}`, `:${pod.port}`],
    what: "port",
    find: (output) => /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output)?.[1],
    work: (port) => work(Number(port)),
    env,
  });
}
