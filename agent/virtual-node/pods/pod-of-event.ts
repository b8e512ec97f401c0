import type { Event, Pod } from "kubernetes-types/core/v1";
import type { ShadowPod } from "../../api/index.js";
import type { KubeObject } from "../../runtime/index.js";

/** What there is now under a pod's name: here, and at the provider. */
export interface PresentPod {
  pod: Pod;
  shadow?: ShadowPod;
  remotePod?: Pod;
}

/**
 * The local pod that an event of the provider is about. One of a former pod of the same name, which a StatefulSet's events may well be, is told without
 * a UID: among all events it is found, among those of the present pod it is not.
 */
export function podOfEvent(event: Event, { pod, shadow, remotePod }: PresentPod): KubeObject {
  const { uid } = event.involvedObject;
  const isPresent = uid === undefined || [shadow?.metadata.uid, remotePod?.metadata?.uid].includes(uid);
  if (isPresent || !shadow || !isBefore(event, shadow)) return pod;
  const { name, namespace } = pod.metadata ?? {};
  return { metadata: { name, namespace } };
}

/** By the provider's clock alone, whose seconds are what objects tell. */
function isBefore(event: Event, shadow: ShadowPod): boolean {
  return Date.parse(event.metadata.creationTimestamp ?? "") < Date.parse(shadow.metadata.creationTimestamp ?? "");
}
