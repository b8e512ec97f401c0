import { parseArgs } from "node:util";
import { PEERINGS_GRACE_MS, refuseWhilePeered } from "../install/remaining-peerings.js";
import { KubeClient } from "../runtime/kube-client.js";

/** Below what the hook's Job is given, so that it can say what was in use. */
const LIMIT_MS = 150_000;

/**
 * The Helm chart's hook before `helm uninstall`: as Pulumi's Agent, it refuses to go while the agent is in use. Ends well when nothing is left of peerings.
 *
 * @throws Error naming what is, which fails the hook, and with it the command
 */
export async function runUninstallGuard(argv: string[], signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: {
      "cluster-id": { type: "string", default: "" },
      "grace-seconds": { type: "string", default: String(PEERINGS_GRACE_MS / 1_000) },
    },
  });
  const clusterId = values["cluster-id"];
  if (clusterId === "") throw new Error("--cluster-id is required");
  const graceSeconds = Number(values["grace-seconds"]);
  if (!(graceSeconds >= 0)) throw new Error(`--grace-seconds=${values["grace-seconds"]}: must be a number of seconds`);
  await refuseWhilePeered(
    {
      client: KubeClient.inCluster({ cluster: clusterId }),
      signal,
      graceMs: graceSeconds * 1_000,
      deadline: Date.now() + LIMIT_MS,
      status: (line) => void process.stdout.write(`${line}\n`),
    },
    clusterId,
    'uninstall with "helm uninstall --no-hooks", which tears them and leaves their remains in both clusters',
  );
}
