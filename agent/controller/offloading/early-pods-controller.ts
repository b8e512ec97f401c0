import type { Pod } from "kubernetes-types/core/v1";
import { NamespaceOffloadingResource, Names, type NamespaceOffloading } from "../../api/index.js";
import { Controller, isDeleting, keyOf, NamespaceResource, PodResource, splitKey } from "../../runtime/index.js";
import type { PatchOperation } from "../webhooks/admission.js";
import { hasOtherTerms, offloadingPatch, toleratesVirtualNodes } from "../webhooks/pod-affinity.js";
import type { ControllerContext } from "../context.js";
import { isDaemonPod } from "./daemon-pod.js";
import { waitingPods } from "./informers.js";
import { makeAnew, type Outdated } from "./make-anew.js";
import { preparesPods, webhookConfigurations } from "./prepared-pods.js";
import { unlessGone } from "./unless-gone.js";

const PURPOSE = "the nodes that its namespace is offloaded to";
const EARLY: Outdated = {
  reason: "PredatesOffloading",
  message:
    "the pod is older than the offloading of its namespace, and cannot be given the node affinity that it needs: delete and create it again",
  purpose: PURPOSE,
};
const CHANGED: Outdated = {
  reason: "PredatesClusterSelector",
  message:
    "the pod has the node affinity that its namespace's offloading asked for before it was changed, and cannot be given another: delete and create it again",
  purpose: PURPOSE,
};

/**
 * On the consumer. Watches pods that no node has been found for, in namespaces that were offloaded, or whose offloading was changed, after the pods were
 * made: admission has not prepared those for virtual nodes (offloading specification, §12.1), or for those of other clusters. Where a toleration is
 * all that is missing it is added. Node affinity cannot be: of a pod that a controller makes anew, the unschedulable one is deleted; any other is told
 * by an event. Pods that admission leaves alone are left alone here as well.
 */
export function earlyPodsController(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const pods = waitingPods(context);
  const offloadings = informers.for(NamespaceOffloadingResource);
  const namespaces = informers.for(NamespaceResource);
  const configurations = webhookConfigurations(context);
  const by = { client, events: context.recorder("namespaceoffloading-controller") };

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(key);
    const { namespace = "" } = splitKey(key);
    const offloading = offloadings.find(namespace, Names.namespaceOffloading);
    if (!pod?.spec || !offloading || isDeleting(offloading) || isDeleting(pod) || isDaemonPod(pod)) return;
    // As long as admission leaves them alone a pod made anew would be no better: until the label is there, or for good.
    if (!preparesPods(configurations.list(), namespaces.get(namespace))) return;
    if (!isEarly(pod)) return hasOtherTerms(pod, offloading.spec) ? makeAnew(by, pod, CHANGED) : undefined;
    const patch = offloadingPatch(pod.spec, offloading.spec);
    if (patch.length === 0) return;
    if (patch.every(({ path }) => path === "/spec/tolerations")) return tolerate(pod, patch);
    await makeAnew(by, pod, EARLY);
  }

  async function tolerate(pod: Pod, patch: PatchOperation[]): Promise<void> {
    const { name = "", namespace, uid } = pod.metadata ?? {};
    const guarded = [{ op: "test", path: "/metadata/uid", value: uid }, ...patch];
    await unlessGone(client.jsonPatch(PodResource, { name, namespace }, guarded));
  }

  const inNamespace = (namespace: string): string[] => pods.inNamespace(namespace).map(keyOf);
  return new Controller({ name: "early-pods", reconcile, logger })
    .watch(pods)
    .watch(offloadings, ({ metadata }: NamespaceOffloading) => inNamespace(metadata.namespace ?? ""))
    .watch(namespaces, ({ metadata }) => inNamespace(metadata?.name ?? ""))
    .watch(configurations, () => pods.list().map(keyOf));
}

/** Whether a pod was made without any thought of virtual nodes. */
export function isEarly(pod: Pod): boolean {
  return !isDeleting(pod) && !isDaemonPod(pod) && !toleratesVirtualNodes(pod.spec);
}
