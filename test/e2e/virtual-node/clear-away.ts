import type { Deployment } from "kubernetes-types/apps/v1";
import { messageOf } from "../../../agent/runtime/index.js";
import { upClusters, type ClusterSpec } from "../../clusters/index.js";
import { silent } from "../../clusters/support/progress.js";
import { NAMESPACE } from "../../demo/environment.js";
import type { LabCluster } from "../../support/lab.js";

const KEPT = "kept";

/** Namespaces that tests have beside the common one. */
const OWN_NAMESPACES = ["ordinary", "restless", "early", "taken"];
const KINDS = "deployments,statefulsets,daemonsets,jobs,services,pods";
const ENDED = ["--ignore-not-found", "--timeout=120s"];

/** A workload that all tests find: neither it nor its pods are cleared away. */
export function kept(workload: Deployment): Deployment {
  const label = { [KEPT]: "true" };
  const { metadata, spec } = workload;
  const template = { ...spec!.template, metadata: { labels: { ...spec!.template.metadata?.labels, ...label } } };
  return { metadata: { ...metadata, labels: label }, spec: { ...spec!, template } };
}

/**
 * Takes away what a test has left that failed half-way, so that no later one fails by it: programs that were ended, nodes that are closed, and objects of its own. A step
 * that fails itself is told, and no reason to leave out the next.
 */
export async function clearAway(labs: {
  consumer: LabCluster;
  provider: LabCluster;
  specs: readonly ClusterSpec[];
  virtualNode: string;
  /** A second slice of the same provider. */
  secondNode: string;
}): Promise<void> {
  const { consumer, provider, specs, virtualNode, secondNode } = labs;
  const remove = (namespace: string, kinds: string, which: string): Promise<unknown> =>
    consumer.kubectl(["delete", kinds, "-n", namespace, ...which.split(" "), ...ENDED], { timeoutMs: 130_000 });
  const open = (lab: LabCluster, nodes: string[]): Promise<unknown> => lab.kubectl(["uncordon", ...nodes]);
  const steps: (() => Promise<unknown>)[] = [
    () => upClusters(specs, { progress: silent }),
    () =>
      open(
        provider,
        provider.cluster.nodes.map(({ name }) => name),
      ),
    () => open(consumer, [virtualNode]),
    () => remove(NAMESPACE, KINDS, `-l ${KEPT}!=true`),
    ...OWN_NAMESPACES.flatMap((namespace) => [
      () => remove(namespace, KINDS, "--all"),
      () => remove(namespace, "namespaceoffloadings", "--all"),
    ]),
    () =>
      consumer.kubectl([
        "delete",
        "resourceslices.authentication.liqo.io",
        "-A",
        `--field-selector=metadata.name=${secondNode}`,
        ...ENDED,
      ]),
  ];
  for (const step of steps) await step().catch((error: unknown) => console.error(messageOf(error)));
}
