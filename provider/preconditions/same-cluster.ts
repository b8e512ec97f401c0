import type { CheckContext, Failures } from "../framework/index.js";
import { recentAgent } from "./agent.js";

/**
 * Reports a pair of one and the same cluster, and of clusters with equal IDs. Only what is known and answers is judged: create looks again, at
 * everything.
 */
export async function checkDifferentClusters(context: CheckContext, failures: Failures): Promise<void> {
  const [consumer, provider] = await Promise.all([context.clusterAt("consumer"), context.clusterAt("provider")]);
  if (!consumer || !provider) return;
  if (consumer.transport.server === provider.transport.server) {
    failures.add(
      "provider",
      `is the same cluster as the consumer (${provider.transport.server}): name two different clusters`,
    );
    return;
  }
  const agents = await Promise.all([
    recentAgent(consumer, context.signal),
    recentAgent(provider, context.signal),
  ]).catch(() => []);
  const [own, other] = agents;
  if (own && other && own.clusterId === other.clusterId) {
    failures.add(
      "provider",
      `has the same cluster ID as the consumer, "${own.clusterId}" (clusters ${consumer.cluster} and ${provider.cluster}): ` +
        "install one agent anew with another clusterId",
    );
  }
}
