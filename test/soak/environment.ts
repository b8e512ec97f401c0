import type { Lab, LabCluster } from "../support/lab.js";
import { offloadNamespace } from "../support/offload-namespace.js";
import { access, type ProgramResource } from "../support/program.js";

/** The resources of a program that peers a consumer with providers; each cluster is called by its name. */
export function peerings(
  lab: Pick<Lab, "agentImage">,
  consumer: LabCluster,
  providers: readonly LabCluster[],
): Record<string, ProgramResource> {
  const agent = (cluster: LabCluster): [string, ProgramResource] => [
    cluster.cluster.name,
    { type: "Agent", properties: { cluster: access(cluster), clusterId: cluster.cluster.name, image: lab.agentImage } },
  ];
  const peering = (provider: LabCluster): [string, ProgramResource] => [
    `${provider.cluster.name}-peering`,
    {
      type: "Peering",
      properties: {
        consumer: access(consumer),
        provider: access(provider),
        gatewayServer: { type: "NodePort" },
        cpu: "8",
        memory: "16Gi",
      },
      dependsOn: [consumer.cluster.name, provider.cluster.name],
    },
  ];
  return Object.fromEntries([agent(consumer), ...providers.map(agent), ...providers.map(peering)]);
}

/** Extends a namespace over one provider, under the same name; all its pods go there. */
export function offload(consumer: LabCluster, namespace: string, provider: string): Promise<void> {
  const matchExpressions = [{ key: "liqo.io/remote-cluster-id", operator: "In" as const, values: [provider] }];
  return offloadNamespace(consumer, namespace, {
    podOffloadingStrategy: "Remote",
    namespaceMappingStrategy: "EnforceSameName",
    clusterSelector: { nodeSelectorTerms: [{ matchExpressions }] },
  });
}
