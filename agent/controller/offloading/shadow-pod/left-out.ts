import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import { isAsked } from "../../../virtual-node/pods/not-carried.js";

/**
 * What a Pod was asked to have and is without, by the field's path: an API server leaves out fields that are younger than itself, or that it has
 * switched off, and says nothing. Looks at the spec's fields and its containers', not into them.
 */
export function leftOut({ spec: asked }: Pod, { spec: made }: Pod): string[] {
  return [
    ...missing(asked, made).map((field) => `spec.${field}`),
    ...(["initContainers", "containers"] as const satisfies (keyof PodSpec)[]).flatMap((list) =>
      (asked?.[list] ?? []).flatMap((container) => {
        const other = made?.[list]?.find(({ name }) => name === container.name);
        return missing(container, other).map((field) => `spec.${list}[${container.name}].${field}`);
      }),
    ),
  ];
}

function missing(asked: object | undefined, made: object | undefined): string[] {
  if (!asked || !made) return [];
  const present: Partial<Record<string, unknown>> = { ...made };
  return Object.entries(asked)
    .filter(([field, value]) => isAsked(value) && present[field] === undefined)
    .map(([field]) => field);
}
