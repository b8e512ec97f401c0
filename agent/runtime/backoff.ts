/** Exponential back-off with full jitter on the upper half, in milliseconds. */
export class Backoff {
  private attempt = 0;

  constructor(
    private readonly initial = 100,
    private readonly max = 30_000,
    private readonly random: () => number = Math.random,
  ) {}

  /** The next delay in milliseconds: between half and all of initial × 2^attempt, never above max. */
  next(): number {
    const ceiling = Math.min(this.max, this.initial * 2 ** this.attempt);
    this.attempt = Math.min(this.attempt + 1, 30);
    return ceiling / 2 + this.random() * (ceiling / 2);
  }

  reset(): void {
    this.attempt = 0;
  }
}

/** Resolves after a delay in milliseconds, or at once when the signal aborts. Never rejects. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/** Resolves when the signal aborts; at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
