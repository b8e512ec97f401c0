import type { Failures } from "./context.js";
import { formatPath, parsePath, startsWith, type PropertyPath } from "./property-path.js";

export interface Failure {
  path: PropertyPath;
  reason: string;
}

/** The list behind Failures. */
export class FailureList implements Failures {
  readonly all: Failure[] = [];

  add(path: PropertyPath | string, reason: string): void {
    this.all.push({ path: typeof path === "string" ? parsePath(path) : path, reason });
  }

  has(path: PropertyPath | string): boolean {
    const prefix = typeof path === "string" ? parsePath(path) : path;
    return this.all.some((failure) => startsWith(failure.path, prefix));
  }

  get count(): number {
    return this.all.length;
  }

  /** As text for places that know no check failures: "a: …; b: …". */
  toString(): string {
    return this.all.map(({ path, reason }) => `${formatPath(path)}: ${reason}`).join("; ");
  }
}
