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

/** The same of a node of whose labels only these are known: whether it may match, as any other label may have any value, or be missing. */
export function mayMatchNodeSelector(terms: readonly NodeSelectorTerm[] | undefined, node: SelectableNode): boolean {
  const isKnown = ({ key }: NodeSelectorRequirement): boolean => node.labels[key] !== undefined;
  return (
    !terms?.length ||
    terms.some(
      (term) => !isEmpty(term) && meets({ ...term, matchExpressions: term.matchExpressions?.filter(isKnown) }, node),
    )
  );
}

function matchesTerm(term: NodeSelectorTerm, node: SelectableNode): boolean {
  return !isEmpty(term) && meets(term, node);
}

function isEmpty({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length === 0 && matchFields.length === 0;
}

function meets(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { name, labels }: SelectableNode,
): boolean {
  return (
    matchExpressions.every((requirement) => matchesRequirement(requirement, labels[requirement.key])) &&
    matchFields.every((requirement) => requirement.key === "metadata.name" && matchesRequirement(requirement, name))
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
