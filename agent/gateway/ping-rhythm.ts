export interface PingRhythmOptions {
  /** Between pings to a peer that answers, as the verdict counts them (milliseconds). */
  intervalMs: number;
  /** So many intervals of silence are a loss. */
  lossThreshold: number;
  /** Milliseconds between pings while connected. Default: intervalMs. */
  connectedIntervalMs?: number;
  /** At least 0, below 1. */
  random?: () => number;
}

/** How often to ping while there is no answer: often at first, as a link that comes up should be seen at once. */
const EAGER_MS = 200;
const EAGER_FOR_MS = 60_000;
const IMPATIENT_MS = 1_000;
/** How often to ask a peer again that has not answered the last ping: what is said of it must not rest on a few moments, and a session with one that has been replaced is begun anew at a ping. */
const DOUBT_MS = 250;
/** Each pause is shorter by up to this part: a link that comes and goes at the very pace of the pings would be up, or down, at each of them. */
const UNEVENNESS = 0.2;

/**
 * When to ping, and what the answers say (network specification, §7): a peer is there once it answers, and lost once it has been silent for
 * `lossThreshold` intervals. Has no clock: moments are the caller's, in milliseconds of a clock that never goes back.
 */
export class PingRhythm {
  private startedAt = 0;
  /** When the last PONG came, or the window began. */
  private heardAt = 0;
  private askedAt?: number;
  /** Whether the ping before the last had no answer by the time of the last. */
  private isInDoubt = false;
  private verdict?: boolean;

  constructor(private readonly options: PingRhythmOptions) {}

  get isConnected(): boolean {
    return this.verdict === true;
  }

  /** Milliseconds of silence after which the peer counts as lost. */
  get patienceMs(): number {
    return this.options.lossThreshold * this.options.intervalMs;
  }

  /** Milliseconds since the peer was last heard, or since the beginning. */
  silenceMs(now: number): number {
    return now - this.heardAt;
  }

  begin(now: number): void {
    this.verdict = undefined;
    this.startedAt = now;
    this.heardAt = now;
    this.askedAt = undefined;
  }

  /** A ping goes out. Tells whether the peer counts as lost from now on. */
  ask(now: number): boolean {
    this.isInDoubt = this.askedAt !== undefined && this.heardAt < this.askedAt;
    this.askedAt = now;
    if (this.verdict === false || this.silenceMs(now) <= this.patienceMs) return false;
    this.verdict = false;
    return true;
  }

  hear(now: number): void {
    this.heardAt = now;
    this.verdict = true;
  }

  /** Milliseconds from a ping to the next. */
  pauseMs(now: number): number {
    const { intervalMs, connectedIntervalMs = intervalMs, random = Math.random } = this.options;
    const pace = this.isInDoubt ? Math.min(connectedIntervalMs, DOUBT_MS) : connectedIntervalMs;
    if (this.isConnected) return pace * (1 - UNEVENNESS * random());
    const isEager = now - Math.max(this.startedAt, this.heardAt) < EAGER_FOR_MS;
    const interval = Math.min(intervalMs, isEager ? EAGER_MS : IMPATIENT_MS);
    // The verdict falls in time.
    const untilVerdict = this.patienceMs - this.silenceMs(now) + 1;
    return this.verdict === undefined && untilVerdict > 0 ? Math.min(interval, untilVerdict) : interval;
  }
}
