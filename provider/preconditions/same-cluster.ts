import type { CheckContext, Failures } from "../framework/index.js";
import { recentAgent } from "./agent.js";

/**
 * Reports a pair of one and the same cluster, and of clusters with equal IDs. Only what is known and answers is judged: create looks again, at
 * everything. The agents' IDs tell clusters apart; addresses do where there are none, as behind a proxy two clusters may have the same.
 */
export async function checkDifferentClusters(context: CheckContext, failures: Failures): Promise<void> {
  const [consumer, provider] = await Promise.all([context.clusterAt("consumer"), context.clusterAt("provider")]);
  if (!consumer || !provider) return;
  const [own, other] = await Promise.all(
    [consumer, provider].map((client) => recentAgent(client, context.signal).catch(() => undefined)),
  );
  if (own && other && own.clusterId !== other.clusterId) return;
  if (consumer.transport.route === provider.transport.route) {
    failures.add(
      "provider",
      `is the same cluster as the consumer (${provider.transport.server}): name two different clusters`,
    );
  } else if (own && other) {
    failures.add(
      "provider",
      `has the same cluster ID as the consumer, "${own.clusterId}" (clusters ${consumer.cluster} and ${provider.cluster}): ` +
        "install one agent anew with another clusterId",
    );
  }
}
