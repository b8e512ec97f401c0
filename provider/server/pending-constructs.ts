import { parseUrn } from "./registry.js";

/** A component that is being made: an end of it can be brought about from outside. */
export interface PendingConstruct {
  /** "liqo:index:Peering". */
  type: string;
  name: string;
  fail(error: unknown): void;
}

const pending = new Set<PendingConstruct>();
let hasFailed = false;

/** @returns a function that takes it off the list again */
export function trackConstruct(construct: PendingConstruct): () => void {
  pending.add(construct);
  return () => void pending.delete(construct);
}

/**
 * Ends the component that a failed child belongs to, before the engine hears of the child: it closes its connection to the plugin soon after, and
 * would tell of that instead.
 *
 * @returns whether there was one
 */
export function failParentOf(urn: string): boolean {
  const [, , types = ""] = urn.split("::");
  const { type, name } = parseUrn(urn);
  const parents = [...pending].filter(
    (construct) => types.includes(`${construct.type}$`) && name.startsWith(`${construct.name}-`),
  );
  const [parent] = parents.sort((a, b) => b.name.length - a.name.length);
  if (!parent) return false;
  hasFailed = true;
  parent.fail(new Error(`its ${type.split(":").at(-1) ?? type} ${name} failed; the reason is told there`));
  return true;
}

/** Ends all components with an error that cannot be told apart. True if it is one of theirs, also of one that has ended meanwhile. */
export function failAllConstructs(error: unknown): boolean {
  const waiting = [...pending];
  for (const construct of waiting) construct.fail(error);
  return waiting.length > 0 || hasFailed;
}
