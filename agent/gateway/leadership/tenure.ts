/** How often it is asked again whether the place may be kept, once its time is over. */
const CHECK_MS = 100;

/** Bounds the time for which a place is kept without a renewal. */
export class Tenure {
  private endsAt = 0;
  private timer?: NodeJS.Timeout;

  /**
   * @param durationMs from each renewal on
   * @param mayLast asked when that is over, and from then on
   * @param onEnd told once when it may not
   */
  constructor(
    private readonly durationMs: number,
    private readonly mayLast: () => boolean,
    private readonly onEnd: () => void,
  ) {}

  /** It counts from this moment on, unless a later one is known. */
  renew(at = Date.now()): void {
    this.endsAt = Math.max(this.endsAt, at + this.durationMs);
    this.wait(this.endsAt - Date.now());
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private wait(milliseconds: number): void {
    this.stop();
    this.timer = setTimeout(() => this.check(), milliseconds);
  }

  private check(): void {
    if (this.mayLast()) this.wait(CHECK_MS);
    else this.onEnd();
  }
}
