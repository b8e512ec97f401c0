import type { Pod } from "kubernetes-types/core/v1";
import { compareQuantities, canonicalQuantity, type ResourceList } from "../../api/index.js";
import { isForbidden, messageOf } from "../../runtime/index.js";
import { allow, deny, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import { ROOM_ANNOTATION } from "./paths.js";
import { podCost } from "./pod-cost.js";

/** In each refusal, by which who has made the Pod tells it from others. */
const LARGER = "larger than the room taken for it";

/** A Pod that says, beside all else, for how much of its user's Quota it is made; or does not say so any more. */
export function withRoom(pod: Pod, room: ResourceList | undefined): Pod {
  const annotations = { ...pod.metadata?.annotations };
  delete annotations[ROOM_ANNOTATION];
  if (room) annotations[ROOM_ANNOTATION] = JSON.stringify(room);
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/**
 * Lets no Pod of a consumer in that admission has made larger than it was asked for, as a LimitRange does, or a sidecar that is put in: it would run until
 * somebody had seen it. Validating, so that nothing changes the Pod any more.
 */
export const validatePodRoom: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<Pod>;
  const room = object?.metadata?.annotations?.[ROOM_ANNOTATION];
  if (!object || room === undefined) return allow();
  const taken = JSON.parse(room) as ResourceList;
  const beyond = Object.entries(podCost(object.spec ?? { containers: [] })).filter(
    ([resource, amount]) => compareQuantities(amount, taken[resource] ?? 0) > 0,
  );
  if (beyond.length === 0) return allow();
  const amounts = beyond.map(
    ([resource, amount]) =>
      `${canonicalQuantity(amount)} of ${resource}, room for ${canonicalQuantity(taken[resource] ?? 0)}`,
  );
  return deny(`with what this cluster's admission adds to it the pod is ${LARGER}: ${amounts.join("; ")}`);
};

/** Whether a Pod has not been made because of that. */
export function isBeyondRoom(error: unknown): boolean {
  return isForbidden(error) && messageOf(error).includes(LARGER);
}
