const MAX_ENTRIES = 1_000;

/** Remembers answers for a while; the oldest go first when there are too many. */
export class ExpiringCache<T> {
  private readonly entries = new Map<string, { value: T; until: number }>();

  constructor(private readonly now: () => number = Date.now) {}

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    if (entry.until > this.now()) return entry.value;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, milliseconds: number): void {
    this.entries.delete(key);
    this.entries.set(key, { value, until: this.now() + milliseconds });
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= MAX_ENTRIES) return;
      this.entries.delete(oldest);
    }
  }
}
