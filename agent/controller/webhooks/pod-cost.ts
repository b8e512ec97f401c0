import type { Container, PodSpec } from "kubernetes-types/core/v1";
import { addResourceLists, compareQuantities, maxResourceLists, type ResourceList } from "../../api/index.js";

/**
 * What a pod takes of a quota, by resource, as the scheduler counts: the larger of all containers together and of each init
 * container with the sidecars started before it, and of what the pod asks for as a whole; with its overhead, and one of `pods` (offloading
 * specification, §5.2).
 */
export function podCost(pod: PodSpec): ResourceList {
  let sidecars: ResourceList = {};
  let initPeak: ResourceList = {};
  for (const container of pod.initContainers ?? []) {
    const withSidecars = addResourceLists(sidecars, requestsOf(container));
    initPeak = maxResourceLists(initPeak, withSidecars);
    if (isSidecar(container)) sidecars = withSidecars;
  }
  const running = (pod.containers ?? []).map(requestsOf).reduce(addResourceLists, sidecars);
  // What is asked for by the pod as a whole covers its containers.
  const whole = requestsOf(pod as Pick<Container, "resources">);
  const containers = maxResourceLists(maxResourceLists(running, initPeak), whole);
  return { ...addResourceLists(containers, pod.overhead ?? {}), pods: 1 };
}

/** A container's requests; a limit without a request counts as one, as it does in Kubernetes. */
export function requestsOf({ resources }: Pick<Container, "resources">): ResourceList {
  const { limits = {}, requests = {} } = resources ?? {};
  return { ...limits, ...requests };
}

function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/** Whether one pod takes more of any resource than another. */
export function takesMore(pod: PodSpec | undefined, other: PodSpec | undefined): boolean {
  return isMore(podCost(pod ?? { containers: [] }), podCost(other ?? { containers: [] }));
}

/** Whether one cost is more than another in any resource. */
export function isMore(cost: ResourceList, other: ResourceList): boolean {
  return Object.entries(cost).some(([resource, amount]) => compareQuantities(amount, other[resource] ?? 0) > 0);
}
