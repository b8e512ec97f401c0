import type { PodSpec } from "kubernetes-types/core/v1";
import type { RuntimeClass } from "kubernetes-types/node/v1";
import type { Informer } from "../../runtime/index.js";

/**
 * A pod that is yet to be made, with the overhead that the API server will give it: its RuntimeClass's. A ShadowPod does not say it, as it is the
 * provider's, and the API server takes no other.
 */
export function withOverhead(pod: PodSpec, runtimeClasses: Pick<Informer<RuntimeClass>, "get">): PodSpec {
  const overhead = runtimeClasses.get(pod.runtimeClassName ?? "")?.overhead?.podFixed;
  return overhead ? { ...pod, overhead } : pod;
}
