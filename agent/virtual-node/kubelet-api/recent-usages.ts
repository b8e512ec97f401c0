import { CpuCounters, type CollectedUsages } from "./stats.js";

/** Readers come each 10 to 60 seconds, often several of them; the provider's own figures are as old as that. */
export const USAGES_MAX_AGE_MS = 10_000;

/**
 * What the pods use, asked of the provider only where nobody has in the last seconds (offloading specification, §7.7): those who come at the same time share one
 * collection. Of one that failed, be it for some of the namespaces only, nobody else is told. The counters go forward once with each collection.
 */
export class RecentUsages {
  readonly counters = new CpuCounters();
  private recent?: CollectedUsages;
  private collecting?: Promise<CollectedUsages>;

  constructor(
    private readonly collect: () => Promise<Omit<CollectedUsages, "at">>,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws what the collection throws */
  async get(): Promise<CollectedUsages> {
    if (this.recent && this.now() < this.recent.at + USAGES_MAX_AGE_MS) return this.recent;
    this.collecting ??= this.collectNow().finally(() => (this.collecting = undefined));
    return this.collecting;
  }

  private async collectNow(): Promise<CollectedUsages> {
    const at = this.now();
    const collected = { ...(await this.collect()), at };
    this.counters.advance(collected);
    if (!collected.failed) this.recent = collected;
    return collected;
  }
}
