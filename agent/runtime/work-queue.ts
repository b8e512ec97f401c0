import { Backoff } from "./backoff.js";

/**
 * Keys to work on: a key waits at most once, is never worked on twice at the same time, and comes back with
 * growing delay after failures (from 50 ms to 30 s).
 */
export class WorkQueue {
  private readonly ready: string[] = [];
  private readonly waiting = new Set<string>();
  private readonly active = new Set<string>();
  private readonly again = new Set<string>();
  private readonly timers = new Map<string, { timer: NodeJS.Timeout; due: number }>();
  private readonly backoffs = new Map<string, Backoff>();
  private readonly takers: ((key: string | undefined) => void)[] = [];
  private closed = false;

  add(key: string): void {
    if (this.closed) return;
    this.clearTimer(key);
    if (this.active.has(key)) {
      this.again.add(key);
      return;
    }
    if (this.waiting.has(key)) return;
    const taker = this.takers.shift();
    if (taker) {
      this.active.add(key);
      taker(key);
      return;
    }
    this.waiting.add(key);
    this.ready.push(key);
  }

  /** Adds the key after a delay in milliseconds; an earlier appointment stands. */
  addAfter(key: string, milliseconds: number): void {
    if (this.closed) return;
    const due = Date.now() + milliseconds;
    const present = this.timers.get(key);
    if (present && present.due <= due) return;
    this.clearTimer(key);
    const timer = setTimeout(() => {
      this.timers.delete(key);
      this.add(key);
    }, milliseconds);
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
    const key = this.ready.shift();
    if (key !== undefined) {
      this.waiting.delete(key);
      this.active.add(key);
      return Promise.resolve(key);
    }
    if (this.closed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.takers.push(resolve));
  }

  /** Must follow every take, when the work on the key has ended. */
  done(key: string): void {
    this.active.delete(key);
    if (this.again.delete(key)) this.add(key);
  }

  close(): void {
    this.closed = true;
    for (const { timer } of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    for (const taker of this.takers.splice(0)) taker(undefined);
  }

  get length(): number {
    return this.ready.length;
  }

  private clearTimer(key: string): void {
    const present = this.timers.get(key);
    if (!present) return;
    clearTimeout(present.timer);
    this.timers.delete(key);
  }
}
