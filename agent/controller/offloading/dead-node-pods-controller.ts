import type { Node, Pod } from "kubernetes-types/core/v1";
import { Labels, LabelValues } from "../../api/index.js";
import { Controller, isDeleting, keyOf, NodeResource, PodResource } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { isNodeReady } from "./informers.js";

const DEAD_NODE_INDEX = "offloading/node-of-ending-pod";
/** Identity that a StatefulSet gives to its pods, and that comes along in their labels. */
const STATEFUL_LABELS = ["statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"];

/**
 * On the provider. Watches Nodes and the Pods of consumers. Ends those that are being deleted on a Node that is not Ready: its kubelet cannot say
 * that they have ended, and until then they would not be made again elsewhere (offloading specification, §5.4). A Pod of a StatefulSet
 * is left as Kubernetes leaves it, as it may still run there: two of one identity are worse than none.
 */
export function deadNodePodsController({ client, informers, logger }: ControllerContext): Controller {
  const nodes = informers.for(NodeResource);
  const pods = informers
    .for(PodResource, { labelSelector: `${Labels.managedBy}=${LabelValues.shadowPodManager}` })
    .addIndex(DEAD_NODE_INDEX, (pod) => (isDeleting(pod) && pod.spec?.nodeName ? [pod.spec.nodeName] : []));

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(key);
    const node = nodes.get(pod?.spec?.nodeName ?? "");
    if (!pod || !isDeleting(pod) || !node || isNodeReady(node) || hasIdentity(pod)) return;
    const { name = "", namespace, uid } = pod.metadata ?? {};
    await client.delete(PodResource, { name, namespace }, { uid, gracePeriodSeconds: 0 });
    logger.info({ pod: key, node: node.metadata?.name }, "ended on a node that is not ready");
  }

  const endingOn = ({ metadata }: Node): string[] => pods.byIndex(DEAD_NODE_INDEX, metadata?.name ?? "").map(keyOf);
  return new Controller({ name: "dead-node-pods", reconcile, logger })
    .watch(pods, (pod) => (isDeleting(pod) ? [keyOf(pod)] : []))
    .watch(nodes, (node) => (isNodeReady(node) ? [] : endingOn(node)));
}

function hasIdentity({ metadata }: Pod): boolean {
  return STATEFUL_LABELS.some((label) => metadata?.labels?.[label] !== undefined);
}
