import type { Pod } from "kubernetes-types/core/v1";
import { Annotations } from "./annotations.js";
import type { ShadowPod } from "./offloading.js";

/** What Kubernetes gives a pod that says nothing, in seconds. */
const DEFAULT_SECONDS = 30;
/** None at all would take the Pod away before its containers have ended. */
const LEAST_SECONDS = 1;

/** How many seconds a pod that is being deleted has, where whoever deletes it has asked for others than it says itself. */
export function askedGracePeriod({ metadata, spec }: Pod): number | undefined {
  const asked = metadata?.deletionGracePeriodSeconds;
  if (asked === undefined) return undefined;
  const own = spec?.terminationGracePeriodSeconds ?? DEFAULT_SECONDS;
  return asked === own ? undefined : Math.max(asked, LEAST_SECONDS);
}

/** How many seconds the consumer asks the provider to give a ShadowPod's Pod, which is to end; undefined while it is not to. */
export function toldGracePeriod({ metadata }: ShadowPod): number | undefined {
  const text = metadata.annotations?.[Annotations.deletionGracePeriod] ?? "";
  return /^[0-9]{1,9}$/.test(text) ? Math.max(Number(text), LEAST_SECONDS) : undefined;
}
