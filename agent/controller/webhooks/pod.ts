import type { Pod } from "kubernetes-types/core/v1";
import { Annotations, Names, NamespaceOffloadingResource } from "../../api/index.js";
import { isDeleting } from "../../runtime/index.js";
import { isDaemonPod } from "../offloading/daemon-pod.js";
import { allow, deny, mutate, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { evictionDelayOf } from "./eviction-delay.js";
import { offloadingPatch, termsNotePatch } from "./pod-affinity.js";

/** Mutates the pods of offloaded namespaces at creation (offloading specification, §4.7). */
export function podMutator({ client, informers }: WebhookContext): AdmissionHandler {
  const offloadings = informers.for(NamespaceOffloadingResource);
  return async (request) => {
    const { object: pod, namespace = "" } = request as AdmissionRequest<Pod>;
    // A DaemonSet has chosen the node already.
    if (!pod?.spec || isDaemonPod(pod)) return allow();
    const name = Names.namespaceOffloading;
    // The namespace may have been labelled a moment ago, on behalf of a resource that this replica has not seen yet.
    const offloading =
      offloadings.find(namespace, name) ?? (await client.get(NamespaceOffloadingResource, { name, namespace }));
    if (!offloading) {
      return deny(`namespace ${namespace} is labelled for offloading but has no NamespaceOffloading "${name}"`, 500);
    }
    // While the offloading ends, new pods must not be sent to nodes that would refuse them.
    if (isDeleting(offloading)) return allow();
    const delay = evictionDelayOf(offloading, Annotations.evictionAfterDisconnect);
    return mutate([...offloadingPatch(pod.spec, offloading.spec, delay), ...termsNotePatch(pod, offloading.spec)]);
  };
}
