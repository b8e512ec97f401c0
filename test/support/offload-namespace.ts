import {
  NamespaceOffloadingResource,
  type NamespaceOffloadingSpec,
  type OffloadingPhase,
} from "../../agent/api/index.js";
import { NamespaceResource } from "../../agent/runtime/index.js";
import type { LabCluster } from "./lab.js";
import { waitFor } from "./wait.js";

const DEADLINE_MS = 120_000;
const FIELD_MANAGER = { fieldManager: "test" };

/**
 * Makes a namespace and extends it over other clusters. Pods that are made before that is done may stay in their own cluster, so it is waited for, or for another phase
 * that is to come of it.
 */
export async function offloadNamespace(
  { client, cluster }: LabCluster,
  namespace: string,
  spec: Partial<NamespaceOffloadingSpec> = {},
  annotations: Record<string, string> = {},
  phase: OffloadingPhase = "Ready",
): Promise<void> {
  await client.apply(NamespaceResource, { metadata: { name: namespace } }, FIELD_MANAGER);
  const everywhere = { clusterSelector: { nodeSelectorTerms: [] } };
  const metadata = { name: "offloading", namespace, annotations };
  const wanted = { metadata, spec: { ...everywhere, ...spec } };
  const { metadata: applied } = await client.apply(NamespaceOffloadingResource, wanted, FIELD_MANAGER);
  const what = `cluster ${cluster.name}: namespace ${namespace} offloaded: ${phase}`;
  await waitFor(client, NamespaceOffloadingResource, { namespace, timeoutMs: DEADLINE_MS, what }, ([offloading]) => {
    const { offloadingPhase, observedGeneration } = offloading?.status ?? {};
    return offloadingPhase === phase && observedGeneration === applied.generation;
  });
}
