import type { Pod } from "kubernetes-types/core/v1";
import { LabelValues, Labels } from "../../agent/api/index.js";
import { PodResource, isDeleting } from "../../agent/runtime/index.js";
import type { LabCluster } from "./lab.js";
import { waitFor } from "./wait.js";

/** Longer than a pod takes to end. */
const DRAIN_SECONDS = 120;

/** The one pod of a cluster's gateway that serves, once there is one. */
export function activeGateway({ client }: LabCluster): Promise<Pod> {
  const options = { labelSelector: `${Labels.gatewayActive}=true`, timeoutMs: 60_000, what: "one active gateway" };
  return waitFor(client, PodResource, options, (pods) => {
    const active = pods.filter((pod) => !isDeleting(pod));
    return active.length === 1 ? active[0] : undefined;
  });
}

/** Drains the node of a cluster's gateway of that gateway, and resolves to its name once the pod has ended; the node stays closed. */
export async function drainGatewayNode(lab: LabCluster): Promise<string> {
  const node = (await activeGateway(lab)).spec?.nodeName ?? "";
  const selector = `${Labels.networkingComponent}=${LabelValues.gatewayComponent}`;
  const options = ["--ignore-daemonsets", "--force", "--pod-selector", selector, `--timeout=${DRAIN_SECONDS}s`];
  await lab.kubectl(["drain", node, ...options], { timeoutMs: (DRAIN_SECONDS + 10) * 1_000 });
  return node;
}
