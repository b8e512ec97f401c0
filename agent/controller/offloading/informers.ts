import type { Node, Pod } from "kubernetes-types/core/v1";
import { Labels, LabelValues } from "../../api/index.js";
import { NodeResource, PodResource, type Informer } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";

/** The index of offloaded pods by the node they are bound to. */
export const BY_NODE = "offloading/node";

/** So many requests about the pods of one node are on their way together: it may have thousands. */
export const PODS_AT_ONCE = 20;

type WithInformers = Pick<ControllerContext, "informers">;

/** The Nodes that stand for other clusters. */
export function virtualClusterNodes({ informers }: WithInformers): Informer<Node> {
  return informers.for(NodeResource, { labelSelector: `${Labels.type}=${LabelValues.virtualNodeType}` });
}

/** This cluster's pods that run in other clusters. */
export function offloadedPods({ informers }: WithInformers): Informer<Pod> {
  return informers
    .for(PodResource, { labelSelector: `${Labels.shadowPod}=true` })
    .addIndex(BY_NODE, (pod) => (pod.spec?.nodeName ? [pod.spec.nodeName] : []));
}

/** Pods that no node has been found for yet. */
export function waitingPods({ informers }: WithInformers): Informer<Pod> {
  return informers.for(PodResource, { fieldSelector: "spec.nodeName=,status.phase=Pending" });
}

/** On the provider: the Pods that were made for ShadowPods. */
export function podsOfShadowPods({ informers }: WithInformers): Informer<Pod> {
  return informers.for(PodResource, { labelSelector: `${Labels.managedBy}=${LabelValues.shadowPodManager}` });
}

/** The pods of the virtual nodes' own processes. */
export function virtualKubeletPods({ informers }: WithInformers): Informer<Pod> {
  return informers.for(PodResource, {
    labelSelector: `${Labels.offloadingComponent}=${LabelValues.virtualKubeletComponent}`,
  });
}

/** Whether a Node's kubelet reports it as ready. */
export function isNodeReady(node: Node): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
