import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Pair } from "../preconditions/index.js";

/** Properties that all resources of a pair of clusters have in common. */

export const forceUnreachable = z.boolean().default(false).meta({
  description:
    "When deleting, go on without a cluster that cannot be reached, as it is gone for good, and clean the other one alone. The provider's deleteUnreachable does the same for all resources. Default: false.",
});

export const tenantNamespaces = z
  .object({
    consumer: z.string().meta({ description: "In the consumer, for the provider." }),
    provider: z.string().meta({ description: "In the provider, for the consumer." }),
  })
  .meta({ description: "The namespaces that hold the peering's resources.", typeName: "TenantNamespaces" });

export const pairOutputs = {
  consumerClusterId: z.string().meta({ description: "The consumer's cluster ID." }),
  providerClusterId: z.string().meta({ description: "The provider's cluster ID." }),
  tenantNamespaces,
};

export const drift = z.array(z.string()).meta({
  description:
    "What a refresh found missing or changed in the clusters; the next `pulumi up` repairs it. Empty otherwise.",
});

/** Makes `pulumi up` repair what a refresh has found. */
export function repairDrift({ outputs }: { outputs: { drift?: string[] } }): { update: string[] } {
  return { update: outputs.drift?.length ? ["drift"] : [] };
}

export function clusterIds({ consumer, provider }: Pair): { consumerClusterId: string; providerClusterId: string } {
  return { consumerClusterId: consumer.clusterId, providerClusterId: provider.clusterId };
}

/** Whether a change concerns deletion alone: it then needs no cluster, as one of them may be gone. */
export function onlyForceChanged(
  inputs: { forceUnreachable: unknown },
  oldInputs: { forceUnreachable: unknown },
): boolean {
  const rest = (value: object): object => ({ ...value, forceUnreachable: undefined });
  return inputs.forceUnreachable !== oldInputs.forceUnreachable && isDeepStrictEqual(rest(inputs), rest(oldInputs));
}
