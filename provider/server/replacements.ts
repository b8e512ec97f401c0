import type { Properties } from "./values.js";

/** A resource of a program: what it is called there, and what it is in the clusters. */
export interface Subject {
  urn: string;
  /** "liqo:index:Authentication". */
  type: string;
  id: string;
}

/** Which API servers a resource is in. Undefined when that cannot be told. */
export type Route = string | undefined;

interface Holder {
  urn: string;
  route: Route;
  isMade: boolean;
  /** URNs whose deletion was left out for it. */
  readonly spared: Set<string>;
}

/**
 * Tells deletions that would take away what the program still has. IDs are the names of things in the clusters, and a create takes up what is there:
 * where two resources have one ID both are the same thing. So it is with replacements that are made before the old resource is deleted (those of
 * `pulumi up --replace`, of replaceOnChanges, and of deleteBeforeReplace: false), and with a resource that has got another name or parent without
 * `aliases`: engines make the new one first and delete the old one at the end of the run, or in the next one when the first breaks off.
 */
export class Replacements {
  private readonly holders = new Map<string, Holder[]>();
  private readonly former = new Map<string, Properties>();

  /** A plugin that is kept for several runs is configured at the start of each. */
  newRun(): void {
    this.holders.clear();
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

  /** Created in this run. In one run an engine deletes what it has just made under the same name for no other reason than its replacement. */
  made({ urn, type, id }: Subject, route: Route): void {
    const key = keyOf(type, id);
    const others = (this.holders.get(key) ?? []).filter((holder) => holder.urn !== urn);
    this.holders.set(key, [...others, { urn, route, isMade: true, spared: new Set() }]);
  }

  /** In the state and in the program, too: engines compare nothing else. */
  kept({ urn, type, id }: Subject, route: Route): void {
    const key = keyOf(type, id);
    const present = this.holders.get(key) ?? [];
    if (present.some((holder) => holder.urn === urn)) return;
    this.holders.set(key, [...present, { urn, route, isMade: false, spared: new Set() }]);
  }

  /** The URN of the resource that what is to be deleted is now, if it is one. Asked once for each deletion. */
  async takeHolder({ urn, type, id }: Subject, routeOf: () => Promise<Route>): Promise<string | undefined> {
    const present = (this.holders.get(keyOf(type, id)) ?? []).filter((holder) => !holder.spared.has(urn));
    const holder =
      present.find((one) => one.urn === urn && one.isMade) ??
      (await sameElsewhere(
        present.filter((one) => one.urn !== urn),
        routeOf,
      ));
    holder?.spared.add(urn);
    return holder?.urn;
  }
}

/** Clusters of two environments may have equal IDs: what their API servers tell apart is not the same thing. */
async function sameElsewhere(others: Holder[], routeOf: () => Promise<Route>): Promise<Holder | undefined> {
  if (others.length === 0) return undefined;
  const route = await routeOf();
  return route === undefined ? undefined : others.find((other) => other.route === route);
}

/** What people are told who may have expected that it is made anew. */
export const KEPT_AS_REPLACEMENT =
  "its replacement is the same in the clusters, and was brought up to date in place: nothing is deleted. To have it deleted and made anew, give the " +
  "resource the option deleteBeforeReplace: true";

/** What people are told whose resource has another name or parent now. */
export function keptForAnother(name: string): string {
  return `another resource of the program, "${name}", is the same in the clusters and has taken it over: nothing is deleted, only the old name leaves the state`;
}

function keyOf(type: string, id: string): string {
  return `${type} ${id}`;
}
