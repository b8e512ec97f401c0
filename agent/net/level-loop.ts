import { Backoff } from "../runtime/backoff.js";
import { messageOf } from "../runtime/kube-error.js";
import type { Logger } from "../runtime/logger.js";

export interface LevelLoopOptions {
  /** Brings the machine to the desired state, whatever state it is in. */
  apply: () => Promise<void>;
  logger: Logger;
  /** All that a pass goes by, as what can be written as JSON; for those who call `notice`. */
  wanted?: () => unknown;
  /** Milliseconds after which it is done again without being asked, so that what others have undone is mended. */
  resyncMs?: number;
}

/** Runs one function, never twice at a time: when triggered, after failures with growing delay, and now and then. */
export class LevelLoop {
  private readonly backoff = new Backoff(100, 10_000);
  private timer?: NodeJS.Timeout;
  private running?: Promise<void>;
  private pending = false;
  private looking?: NodeJS.Immediate;
  private wanted?: string;
  private started = false;
  private stopped = false;
  private readonly done = { passes: 0, failures: 0 };

  constructor(private readonly options: LevelLoopOptions) {}

  /** Since the start: all passes, and those that failed. */
  get figures(): { passes: number; failures: number } {
    return this.done;
  }

  start(): void {
    this.started = true;
    this.isNews();
    this.trigger();
  }

  /** Asks for a pass; several requests before it begins are one. */
  trigger(): void {
    this.pending = true;
    if (!this.started || this.stopped || this.running) return;
    clearTimeout(this.timer);
    this.running = this.work().finally(() => {
      this.running = undefined;
      if (this.pending) this.trigger();
    });
  }

  /** Something has happened: asks for a pass if it would go by something else than the last. Events of the same moment are looked at once. */
  notice(): void {
    if (!this.started || this.stopped) return;
    this.looking ??= setImmediate(() => {
      this.looking = undefined;
      if (this.isNews()) this.trigger();
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    clearImmediate(this.looking);
    await this.running;
  }

  private isNews(): boolean {
    const before = this.wanted;
    try {
      this.wanted = JSON.stringify(this.options.wanted?.());
    } catch {
      // What is wrong with it, a pass tells, and tries again.
      return true;
    }
    return this.wanted !== before;
  }

  private async work(): Promise<void> {
    // Let events of the same moment come together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.pending && !this.stopped) {
      this.pending = false;
      let wait = this.options.resyncMs ?? 30_000;
      this.done.passes += 1;
      try {
        await this.options.apply();
        this.backoff.reset();
      } catch (error) {
        this.done.failures += 1;
        wait = this.backoff.next();
        this.options.logger.warn({ reason: messageOf(error) }, "not applied, will retry");
      }
      clearTimeout(this.timer);
      if (!this.stopped) this.timer = setTimeout(() => this.trigger(), wait);
    }
  }
}
