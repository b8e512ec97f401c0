import type { LabelSelector } from "../../api/index.js";
import { matchesRequirement } from "./node-selector.js";

/** Whether labels match a selector, by Kubernetes' rules: all that it asks for, and an empty one matches everything. */
export function matchesLabelSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Record<string, string> = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => matchesRequirement(requirement, labels[requirement.key]))
  );
}
