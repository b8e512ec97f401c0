import type { PodDisruptionBudget } from "kubernetes-types/policy/v1";
import type { ResourceType } from "../../agent/runtime/index.js";

export const PodDisruptionBudgetResource: ResourceType<PodDisruptionBudget> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};
