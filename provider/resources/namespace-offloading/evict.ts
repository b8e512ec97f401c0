import type { Pod } from "kubernetes-types/core/v1";
import {
  delay,
  isNotFound,
  KubeError,
  objectPath,
  PodResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import type { Progress } from "../../waits/index.js";

const BUDGET_RETRY_MS = 2_000;

/**
 * Asks for a pod's eviction until it is granted: a disruption budget may forbid it for a while. Ends when the pod is gone or the signal aborts.
 *
 * @throws KubeError when it can never be granted (no rights)
 */
export async function evict(progress: Progress, client: KubeClient, pod: Pod): Promise<void> {
  const { name = "", namespace } = pod.metadata ?? {};
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  while (!progress.signal.aborted) {
    try {
      await client.request("POST", objectPath(PodResource, { name, namespace }, "eviction"), {
        body,
        signal: progress.signal,
        subject: `the eviction of pod ${namespace ?? ""}/${name}`,
      });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      const isForbiddenByBudget = error instanceof KubeError && error.code === 429;
      if (!isForbiddenByBudget) throw error;
      await delay(BUDGET_RETRY_MS, progress.signal);
    }
  }
}
