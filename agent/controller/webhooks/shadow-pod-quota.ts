import type { Container, PodSpec } from "kubernetes-types/core/v1";
import {
  addResourceLists,
  canonicalQuantity,
  compareQuantities,
  quantitiesEqual,
  subtractQuantities,
  type LimitsEnforcement,
  type QuotaSpec,
  type ResourceList,
} from "../../api/index.js";
import { podCost, requestsOf } from "./pod-cost.js";

/** Why a pod may not be created under a quota, or undefined when it may. `used` is what the user's other pods take. */
export function quotaProblem(pod: PodSpec, quota: QuotaSpec, used: ResourceList): string | undefined {
  if (quota.cordoned) return "user is cordoned";
  return limitsProblem(pod, quota.limitsEnforcement ?? "None") ?? exceededProblem(podCost(pod), quota, used);
}

function limitsProblem(pod: PodSpec, enforcement: LimitsEnforcement): string | undefined {
  if (enforcement === "None") return undefined;
  for (const container of [...(pod.containers ?? []), ...(pod.initContainers ?? [])]) {
    const problem = containerProblem(container, enforcement);
    if (problem) return `container ${container.name}: ${problem}`;
  }
  return undefined;
}

function containerProblem(container: Container, enforcement: "Soft" | "Hard"): string | undefined {
  const requests = requestsOf(container);
  for (const resource of ["cpu", "memory"]) {
    if (requests[resource] === undefined) return `a request of ${resource} is required by this peering`;
  }
  if (enforcement === "Soft") return undefined;
  const limits = container.resources?.limits ?? {};
  const unequal = Object.entries(requests).find(([resource, amount]) => {
    const limit = limits[resource];
    return limit === undefined || !quantitiesEqual(limit, amount);
  });
  return unequal ? `its limit of ${unequal[0]} must equal the request in this peering` : undefined;
}

function exceededProblem(cost: ResourceList, quota: QuotaSpec, used: ResourceList): string | undefined {
  for (const [resource, requested] of Object.entries(cost)) {
    const limit = quota.resources[resource];
    if (limit === undefined) {
      // Pods are counted where the quota does; nobody requests them.
      if (resource === "pods" || compareQuantities(requested, 0) === 0) continue;
      return `${resource} quota limit not found for this peering`;
    }
    const free = subtractQuantities(limit, used[resource] ?? 0);
    if (compareQuantities(requested, free) > 0) {
      return `peering ${resource} quota usage exceeded - free ${free} / requested ${canonicalQuantity(requested)}`;
    }
  }
  return undefined;
}

/** The sum of several pods' costs. */
export function totalCost(costs: Iterable<ResourceList>): ResourceList {
  let total: ResourceList = {};
  for (const cost of costs) total = addResourceLists(total, cost);
  return total;
}
