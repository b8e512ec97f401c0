import type { NodeSelectorRequirement, NodeSelectorTerm } from "kubernetes-types/core/v1";

/** What a node selector looks at. */
export interface SelectableNode {
  name: string;
  labels: Record<string, string>;
}

/** Whether a node matches one of the terms, by Kubernetes' rules: an empty term matches nothing. No terms at all match every node. */
export function matchesNodeSelector(terms: readonly NodeSelectorTerm[] | undefined, node: SelectableNode): boolean {
  return !terms?.length || terms.some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: SelectableNode): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matchesRequirement(requirement, node.labels[requirement.key])) &&
    matchFields.every(
      (requirement) => requirement.key === "metadata.name" && matchesRequirement(requirement, node.name),
    )
  );
}

/** Whether a label's value, undefined where there is no such label, is as a requirement of a node or label selector wants it. */
export function matchesRequirement(
  { operator, values = [] }: Pick<NodeSelectorRequirement, "operator" | "values">,
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isInteger(value) && Number(value) > Number(values[0]);
    case "Lt":
      return isInteger(value) && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

function isInteger(value: string | undefined): boolean {
  return value !== undefined && /^-?[0-9]+$/.test(value);
}
