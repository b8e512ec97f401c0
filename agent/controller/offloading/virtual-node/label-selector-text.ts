import type { LabelSelector } from "../../../api/index.js";

/** A label selector as `kubectl -l` and the API server's queries write it, always in the same order; "" selects everything. */
export function labelSelectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...labels.sort(), ...matchExpressions.map(requirementText)].join(",");
}

function requirementText({
  key,
  operator,
  values = [],
}: NonNullable<LabelSelector["matchExpressions"]>[number]): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.join(",")})`;
    case "NotIn":
      return `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}
