import type { Properties } from "./values.js";

/**
 * Tells replacements that are made before the old resource is deleted: those of `pulumi up --replace`, of replaceOnChanges, and of
 * deleteBeforeReplace: false. IDs are the names of things in the clusters, and a create takes up what is there: where the new resource has the old one's
 * ID both are the same thing, and the deletion that the engine asks for afterwards would take the new one away. In one run an engine deletes what it has
 * just made under the same name for no other reason.
 */
export class Replacements {
  private readonly fresh = new Set<string>();
  private readonly former = new Map<string, Properties>();

  /** A plugin that is kept for several runs is configured at the start of each. */
  newRun(): void {
    this.fresh.clear();
    this.former.clear();
  }

  /**
   * Notes the inputs that come with a Check, and tells those that came before where there are none: once an engine knows that it will replace a resource it
   * asks again as if for a new one, while the old one is still there.
   */
  formerInputs(urn: string, olds: Properties | undefined): Properties | undefined {
    if (olds) this.former.set(urn, olds);
    return this.former.get(urn);
  }

  made(urn: string, id: string): void {
    this.fresh.add(keyOf(urn, id));
  }

  /** Whether what is to be deleted is what has just been made in its place. Asked once for each deletion. */
  takeReplaced(urn: string, id: string): boolean {
    return this.fresh.delete(keyOf(urn, id));
  }
}

/** What people are told who may have expected that it is made anew. */
export const KEPT_AS_REPLACEMENT =
  "its replacement is the same in the clusters, and was brought up to date in place: nothing is deleted. To have it deleted and made anew, give the " +
  "resource the option deleteBeforeReplace: true";

function keyOf(urn: string, id: string): string {
  return `${urn} ${id}`;
}
