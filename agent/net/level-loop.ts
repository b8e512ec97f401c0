import { Backoff } from "../runtime/backoff.js";
import { messageOf } from "../runtime/kube-error.js";
import type { Logger } from "../runtime/logger.js";

/** What a pass is made for. */
export interface Occasion {
  /** Nothing that former passes have found may be relied on: at the start, when asked for, after a failure, and now and then. Otherwise only what is wanted has changed. */
  isThorough: boolean;
}

export interface LevelLoopOptions {
  /** Brings the machine to the desired state, whatever state it is in. */
  apply: (occasion: Occasion) => Promise<void>;
  logger: Logger;
  /** All that a pass goes by, as what can be written as JSON; for those who call `notice`. */
  wanted?: () => unknown;
  /**
   * What it goes by besides, of which often much changes one after the other: one pass is made for all that does so within this time (milliseconds) of the
   * last pass. What changes alone has its pass at once.
   */
  gathered?: { wanted: () => unknown; forMs: number };
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
  private gathering?: NodeJS.Timeout;
  private wanted?: string;
  private gathered?: string;
  private isThorough = true;
  /** When the last pass began, by the monotonic clock. */
  private begunAt = -Infinity;
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
    this.isGatheredNews();
    this.trigger();
  }

  /** Asks for a pass; several requests before it begins are one. */
  trigger(): void {
    this.isThorough = true;
    this.ask();
  }

  /** Something has happened: asks for a pass if it would go by something else than the last. Events of the same moment are looked at once. */
  notice(): void {
    if (!this.started || this.stopped) return;
    this.looking ??= setImmediate(() => {
      this.looking = undefined;
      const [isNews, isGatheredNews] = [this.isNews(), this.isGatheredNews()];
      if (isNews) this.ask();
      else if (isGatheredNews) this.gather();
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.gathering);
    clearImmediate(this.looking);
    await this.running;
  }

  /** Ends like `stop`, after one more pass for what has been asked for, or changed, since the last began, or what that one failed at: for those whom nobody comes after. */
  async settle(): Promise<void> {
    await this.stop();
    if (!this.started || !this.isDue()) return;
    try {
      await this.options.apply({ isThorough: true });
    } catch (error) {
      this.options.logger.warn({ reason: messageOf(error) }, "not applied at the end");
    }
  }

  private isDue(): boolean {
    const isAsked = this.pending || this.isThorough || this.gathering !== undefined;
    return isAsked || this.isNews() || this.isGatheredNews();
  }

  private ask(): void {
    this.pending = true;
    if (!this.started || this.stopped || this.running) return;
    clearTimeout(this.timer);
    this.running = this.work().finally(() => {
      this.running = undefined;
      if (this.pending) this.ask();
    });
  }

  /** Asks for a pass once the last is long enough ago. */
  private gather(): void {
    const { forMs = 0 } = this.options.gathered ?? {};
    const wait = this.begunAt + forMs - performance.now();
    if (wait <= 0) this.ask();
    else this.gathering ??= setTimeout(() => this.ask(), wait);
  }

  private isNews(): boolean {
    const before = this.wanted;
    this.wanted = textOf(this.options.wanted);
    return this.wanted === undefined || this.wanted !== before;
  }

  private isGatheredNews(): boolean {
    const before = this.gathered;
    this.gathered = textOf(this.options.gathered?.wanted);
    return this.gathered === undefined || this.gathered !== before;
  }

  private async work(): Promise<void> {
    // Let events of the same moment come together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.pending && !this.stopped) {
      const occasion = this.begin();
      let wait = this.options.resyncMs ?? 30_000;
      this.done.passes += 1;
      try {
        await this.options.apply(occasion);
        this.backoff.reset();
      } catch (error) {
        this.isThorough = true;
        this.done.failures += 1;
        wait = this.backoff.next();
        this.options.logger.warn({ reason: messageOf(error) }, "not applied, will retry");
      }
      clearTimeout(this.timer);
      if (!this.stopped) this.timer = setTimeout(() => this.trigger(), wait);
    }
  }

  /** Whatever was asked for so far, the pass that begins now is for it. */
  private begin(): Occasion {
    const occasion = { isThorough: this.isThorough };
    this.pending = false;
    this.isThorough = false;
    clearTimeout(this.gathering);
    this.gathering = undefined;
    this.begunAt = performance.now();
    return occasion;
  }
}

/** As what is wanted can be compared; undefined where it cannot be told: what is wrong with it, a pass tells, and tries again. */
function textOf(wanted: (() => unknown) | undefined): string | undefined {
  try {
    return JSON.stringify(wanted?.() ?? null);
  } catch {
    return undefined;
  }
}
