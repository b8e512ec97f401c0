/** How long a change waits for the next one, so that both are one write; longer while many pods start together. */
const PATIENCE_MS = { usually: 1_000, inCrowd: 10_000 };
/** So many pods with such changes are a crowd. */
const CROWD = 10;

/**
 * Changes of pods' statuses that nobody acts on, and since when they wait. Time counts from the first of several changes: however they follow each other,
 * the last is written in the end.
 */
export class MinorChanges {
  /** By pod UID, milliseconds. */
  private readonly since = new Map<string, number>();

  constructor(private readonly now = Date.now) {}

  /** In how many milliseconds the pod's change is to be written; 0: now. */
  waitMs(uid: string): number {
    const since = this.since.get(uid) ?? this.now();
    this.since.set(uid, since);
    const patience = this.since.size > CROWD ? PATIENCE_MS.inCrowd : PATIENCE_MS.usually;
    return Math.max(0, since + patience - this.now());
  }

  /** Nothing of the pod waits any more. */
  settle(uid: string): void {
    this.since.delete(uid);
  }
}
