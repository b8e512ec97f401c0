import { Annotations } from "../../../api/index.js";
import { isDeleting } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";
import { isDaemonPod } from "../daemon-pod.js";
import { waitingPods } from "../informers.js";
import { makeAnew, type Outdated } from "../make-anew.js";

const PREPARED: Outdated = {
  reason: "PreparedForOffloading",
  message:
    "the pod has the node affinity of its namespace's offloading, which sends no pods to other clusters any more, and cannot be given another: delete and create it again",
  purpose: "the nodes of its own cluster",
};

/**
 * Has the pods of a namespace that wait for a node of another cluster come to its own ones, as those do that are made from now on. Called before admission ceases to
 * prepare pods, and only then: the note of their terms would else be one that their template has brought along, and they would be made anew for ever.
 */
export function podsHome(context: ControllerContext): (namespace: string) => Promise<void> {
  const pods = waitingPods(context);
  const by = { client: context.client, events: context.recorder("namespaceoffloading-controller") };
  return async (namespace) => {
    const prepared = pods
      .inNamespace(namespace)
      .filter((pod) => pod.metadata?.annotations?.[Annotations.clusterSelectorHash] !== undefined)
      .filter((pod) => !isDeleting(pod) && !isDaemonPod(pod));
    await Promise.all(prepared.map((pod) => makeAnew(by, pod, PREPARED)));
  };
}
