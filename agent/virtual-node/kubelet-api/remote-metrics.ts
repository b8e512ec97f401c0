import { Labels } from "../../api/index.js";
import { messageOf } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";
import type { PodController } from "../pods/pod-controller.js";
import type { NamespaceManager } from "../namespaces/namespace-manager.js";
import { podUsages, type CollectedUsages, type PodMetrics } from "./stats.js";

/** What this node's pods use, as the provider's metrics API tells. `failed`: it could not be asked for some of them. */
export async function collectUsages(
  { remote, config, logger }: Pick<VirtualNodeContext, "remote" | "config" | "logger">,
  namespaces: Pick<NamespaceManager, "pairs">,
  pods: Pick<PodController, "pods">,
): Promise<Omit<CollectedUsages, "at">> {
  const selector = encodeURIComponent(`${Labels.offloadingNodeName}=${config.nodeName}`);
  let failed = false;
  const usages = await Promise.all(
    namespaces.pairs().map(async (pair) => {
      const local = pods.pods.inNamespace(pair.local);
      if (local.length === 0) return [];
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${pair.remote}/pods?labelSelector=${selector}`;
      try {
        const list = await remote.request<{ items: PodMetrics[] }>("GET", path, { subject: "metrics of pods" });
        return podUsages(local, list.items);
      } catch (error) {
        failed = true;
        logger.debug({ namespace: pair.local, reason: messageOf(error) }, "no metrics");
        return [];
      }
    }),
  );
  return { usages: usages.flat(), failed };
}
