import type { Pod } from "kubernetes-types/core/v1";
import { Labels } from "../../api/index.js";
import { Controller, inParallel, PodResource } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { unlessGone } from "./unless-gone.js";
import { BY_NODE, PODS_AT_ONCE, isNodeReady, offloadedPods, virtualClusterNodes } from "./informers.js";

/**
 * Watches virtual Nodes and the pods on them. Labels the pods of a Node that is not Ready as liqo.io/remote-unavailable, and takes the
 * label away when it is Ready again; the virtual node then reports them as not ready (offloading specification, §3).
 */
export function remoteUnavailableController(context: ControllerContext): Controller {
  const { client, logger } = context;
  const nodes = virtualClusterNodes(context);
  const pods = offloadedPods(context);

  async function reconcile(nodeName: string): Promise<void> {
    const node = nodes.get(nodeName);
    if (!node) return;
    const unavailable = !isNodeReady(node);
    const wrong = pods.byIndex(BY_NODE, nodeName).filter((pod) => isMarked(pod) !== unavailable);
    await inParallel(wrong, PODS_AT_ONCE, (pod) => mark(pod, unavailable));
  }

  async function mark(pod: Pod, unavailable: boolean): Promise<void> {
    const { name = "", namespace, uid } = pod.metadata ?? {};
    const labels = { [Labels.remoteUnavailable]: unavailable ? "true" : null };
    const updated = await unlessGone(
      client.mergePatch(PodResource, { name, namespace }, { metadata: { uid, labels } }),
    );
    if (updated) pods.observe(updated);
  }

  return new Controller({ name: "remote-unavailable", reconcile, logger }).watch(nodes).watch(pods, (pod) => {
    const node = nodes.get(pod.spec?.nodeName ?? "");
    return node && isMarked(pod) !== !isNodeReady(node) ? [node.metadata?.name ?? ""] : [];
  });
}

function isMarked(pod: Pod): boolean {
  return pod.metadata?.labels?.[Labels.remoteUnavailable] === "true";
}
