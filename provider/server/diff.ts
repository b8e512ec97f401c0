import { compareProperties, type Change } from "../framework/compare.js";
import { formatPath, parsePath, startsWith, type PropertyPath } from "../framework/property-path.js";
import type { AnyResource } from "../framework/resource.js";
import type { Properties } from "./values.js";

export interface DetailedChange extends Change {
  replace: boolean;
  /** Whose values the engine is to show: of outputs there are only the old ones yet. */
  of: "inputs" | "outputs";
}

export interface Difference {
  changes: DetailedChange[];
  deleteBeforeReplace: boolean;
}

/** What changes between old and new inputs, field by field, and what of it needs a replacement. */
export function diffResource(
  definition: AnyResource,
  request: { id: string; oldInputs: Properties; inputs: Properties; outputs: Properties; ignoreChanges: string[] },
): Difference {
  const adjusted = definition.diff?.(request) ?? {};
  const ignored = paths([...(adjusted.ignore ?? []), ...request.ignoreChanges]);
  const replacing = paths([...(definition.replaceOn ?? []), ...(adjusted.replace ?? [])]);
  const changes: DetailedChange[] = compareProperties(definition.inputs, request.oldInputs, request.inputs)
    .filter(({ path }) => !matches(path, ignored))
    .map((change) => ({ ...change, replace: matches(change.path, replacing), of: "inputs" }));
  for (const path of paths(adjusted.update ?? [])) {
    if (changes.some((change) => formatPath(change.path) === formatPath(path))) continue;
    changes.push({ path, kind: "update", replace: matches(path, replacing), of: "outputs" });
  }
  return { changes, deleteBeforeReplace: definition.deleteBeforeReplace ?? true };
}

function paths(texts: readonly string[]): PropertyPath[] {
  return texts.map(parsePath);
}

/** A rule reaches what lies below it, and a change of a whole object reaches the rules on its fields. */
function matches(path: PropertyPath, rules: PropertyPath[]): boolean {
  return rules.some((rule) => startsWith(path, rule) || (rule.length > path.length && startsWith(rule, path)));
}
