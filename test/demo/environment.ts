import path from "node:path";
import { PulumiStack } from "../support/pulumi.js";
import { REPOSITORY, type Lab, type LabCluster } from "../support/lab.js";
import type { ClusterSpec } from "../clusters/index.js";

/** Both clusters have the same ranges on purpose: neither owner of a real one asked the other before choosing them. */
const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };

export const DEMO_CLUSTERS: readonly ClusterSpec[] = [
  { name: "consumer", ...RANGES },
  { name: "provider", ...RANGES },
];

export const NAMESPACE = "demo";
export const STATE_FOLDER = path.join(REPOSITORY, ".demo");

export interface Demo {
  lab: Lab;
  consumer: LabCluster;
  provider: LabCluster;
  stack: PulumiStack;
}

/** The quick start's own Pulumi.yaml, with its state in a folder of the repository. */
export function demoStack(
  lab: Pick<Lab, "pulumiBin" | "agentImage">,
  consumer: LabCluster,
  provider: LabCluster,
  options: { stack: string; stateFolder: string } = { stack: "demo", stateFolder: STATE_FOLDER },
): PulumiStack {
  return new PulumiStack({
    project: REPOSITORY,
    ...options,
    binFolder: lab.pulumiBin,
    config: {
      consumerKubeconfig: consumer.cluster.kubeconfigPath,
      consumerContext: consumer.cluster.context,
      providerKubeconfig: provider.cluster.kubeconfigPath,
      providerContext: provider.cluster.context,
      image: lab.agentImage,
      namespace: NAMESPACE,
    },
  });
}
