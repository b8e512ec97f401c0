/** The named counters of a table as they were at one moment. */
export interface Counts {
  /** The table's handle: the kernel gives none twice, and later ones are greater. */
  table: number;
  /** In packets, by name. */
  packets: Readonly<Record<string, number>>;
}

/**
 * Counts that go on where the kernel's begin anew, as those of a table do whenever it is written: all that former tables were last seen to
 * have counted, and what the present one has.
 */
export class CounterSums {
  private readonly former = new Map<string, number>();
  private present: Counts = { table: 0, packets: {} };

  /** What was read last need not be what was asked for last: an answer about a table that has been replaced since tells nothing. */
  observe(counts: Counts): void {
    if (counts.table < this.present.table) return;
    if (counts.table > this.present.table) this.beginAnew(counts.table);
    const known = this.present.packets;
    const later = Object.entries(counts.packets).map(
      ([name, count]) => [name, Math.max(count, known[name] ?? 0)] as const,
    );
    this.present.packets = { ...known, ...Object.fromEntries(later) };
  }

  /** In packets, by name: since the first look. */
  totals(): Record<string, number> {
    const names = new Set([...this.former.keys(), ...Object.keys(this.present.packets)]);
    return Object.fromEntries([...names].map((name) => [name, this.total(name)]));
  }

  private beginAnew(table: number): void {
    for (const name of Object.keys(this.present.packets)) this.former.set(name, this.total(name));
    this.present = { table, packets: {} };
  }

  private total(name: string): number {
    return (this.former.get(name) ?? 0) + (this.present.packets[name] ?? 0);
  }
}
