import { createHash } from "node:crypto";
import type { Pod } from "kubernetes-types/core/v1";
import type { ShadowPod } from "../../../api/index.js";
import { isRefused, messageOf, PodResource, type KubeClient } from "../../../runtime/index.js";
import { changeablePart, podChanges, SUBRESOURCE_OF, type PodChanges } from "../../../virtual-node/pods/pod-changes.js";

/** Which of its ShadowPod's changes a Pod has been given: a provider's own admission may alter them, and must not be fought over. */
export const CHANGES_ANNOTATION = "offloading.liqo.io/applied-changes";

/** The annotation's value when the Pod has all that its ShadowPod asks for now. */
export function changesDigest({ spec }: ShadowPod): string {
  return createHash("sha256")
    .update(JSON.stringify(changeablePart(spec.pod)))
    .digest("hex")
    .slice(0, 16);
}

/** The annotation's value as it is: what the Pod has been given until now. */
export function appliedChanges({ metadata }: Pod): string {
  return metadata?.annotations?.[CHANGES_ANNOTATION] ?? "";
}

/** Whether the ShadowPod has changed in what a running Pod can still be given. */
export function hasNewChanges(shadow: ShadowPod, pod: Pod): boolean {
  return appliedChanges(pod) !== changesDigest(shadow);
}

/**
 * Gives the Pod what its ShadowPod asks for since: images, deadline, tolerations, resources (in place) and ephemeral containers. Returns the
 * Pod as it is then, and what the API server has refused, in its words.
 *
 * @throws KubeError when no answer comes, or the Pod has changed meanwhile
 */
export async function applyChanges(
  client: KubeClient,
  shadow: ShadowPod,
  pod: Pod,
): Promise<{ pod: Pod; refusals: string[] }> {
  const changes = podChanges(pod.spec ?? { containers: [] }, shadow.spec.pod ?? { containers: [] }, "/spec");
  const refusals: string[] = [];
  let latest = pod;
  for (const [way, operations] of Object.entries(changes) as [keyof PodChanges, PodChanges["update"]][]) {
    if (operations.length === 0) continue;
    const { name = "", namespace, uid } = pod.metadata ?? {};
    // Another Pod of the same name is not meant.
    const guarded = [{ op: "test", path: "/metadata/uid", value: uid }, ...operations];
    try {
      const options = { subresource: SUBRESOURCE_OF[way] };
      latest = await client.jsonPatch(PodResource, { name, namespace }, guarded, options);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refusals.push(messageOf(error));
    }
  }
  return { pod: latest, refusals };
}
