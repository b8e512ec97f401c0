import { Backoff } from "./backoff.js";

/** Who has waited long enough gets a turn: after so many urgent keys in a row one that is not. */
const URGENT_IN_A_ROW = 10;

/** Beyond this Node.js does not wait at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Keys to work on: a key waits at most once, is never worked on twice at the same time, and comes back with
 * growing delay after failures (from 50 ms to 30 s). Urgent keys come before others, each kind in the order of its arrival.
 */
export class WorkQueue {
  private readonly urgent = new Set<string>();
  private readonly others = new Set<string>();
  private readonly active = new Set<string>();
  /** Keys that came while they were worked on, and whether they are urgent. */
  private readonly again = new Map<string, boolean>();
  private readonly timers = new Map<string, { timer: NodeJS.Timeout; due: number }>();
  private readonly backoffs = new Map<string, Backoff>();
  private readonly takers: ((key: string | undefined) => void)[] = [];
  /** Urgent keys handed out while others waited. */
  private inARow = 0;
  private closed = false;

  /** A key that waits becomes urgent when it is added as such, and stays so. */
  add(key: string, isUrgent = false): void {
    if (this.closed) return;
    this.clearTimer(key);
    if (this.active.has(key)) {
      this.again.set(key, isUrgent || this.again.get(key) === true);
      return;
    }
    const taker = this.takers.shift();
    if (taker) {
      this.active.add(key);
      taker(key);
      return;
    }
    if (this.urgent.has(key)) return;
    if (isUrgent) this.others.delete(key);
    (isUrgent ? this.urgent : this.others).add(key);
  }

  /** Adds the key after a delay in milliseconds, or after the longest that a timer can wait (24 days); an earlier appointment stands. */
  addAfter(key: string, milliseconds: number): void {
    if (this.closed) return;
    const due = Date.now() + milliseconds;
    const present = this.timers.get(key);
    if (present && present.due <= due) return;
    this.clearTimer(key);
    const timer = setTimeout(
      () => {
        this.timers.delete(key);
        this.add(key);
      },
      Math.min(milliseconds, LONGEST_TIMER_MS),
    );
    this.timers.set(key, { timer, due });
  }

  addRateLimited(key: string): void {
    const backoff = this.backoffs.get(key) ?? new Backoff(50, 30_000);
    this.backoffs.set(key, backoff);
    this.addAfter(key, backoff.next());
  }

  /** Forgets a key's failures. */
  forget(key: string): void {
    this.backoffs.delete(key);
  }

  /** The next key, or undefined when the queue has been closed. */
  take(): Promise<string | undefined> {
    const key = this.next();
    if (key !== undefined) {
      this.active.add(key);
      return Promise.resolve(key);
    }
    if (this.closed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.takers.push(resolve));
  }

  /** Must follow every take, when the work on the key has ended. */
  done(key: string): void {
    this.active.delete(key);
    const isUrgent = this.again.get(key);
    if (isUrgent === undefined) return;
    this.again.delete(key);
    this.add(key, isUrgent);
  }

  close(): void {
    this.closed = true;
    for (const { timer } of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    for (const taker of this.takers.splice(0)) taker(undefined);
  }

  get length(): number {
    return this.urgent.size + this.others.size;
  }

  private next(): string | undefined {
    const isTurnOfOthers = this.urgent.size === 0 || (this.others.size > 0 && this.inARow >= URGENT_IN_A_ROW);
    this.inARow = isTurnOfOthers || this.others.size === 0 ? 0 : this.inARow + 1;
    const keys = isTurnOfOthers ? this.others : this.urgent;
    const [key] = keys;
    if (key !== undefined) keys.delete(key);
    return key;
  }

  private clearTimer(key: string): void {
    const present = this.timers.get(key);
    if (!present) return;
    clearTimeout(present.timer);
    this.timers.delete(key);
  }
}
