import { delay } from "./backoff.js";
import { HolderLease, LEASE_SECONDS, type HolderLeaseOptions } from "./holder-lease.js";
import type { KubeClient } from "./kube-client.js";
import { messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";

export interface LeaderElectionOptions extends HolderLeaseOptions {
  logger: Logger;
}

/** Between renewals. How soon the next one takes the place of a holder that has died does not depend on it: that counts from the last one. */
const RENEW_MS = 5_000;
/** Between tries to renew it after one that failed, and between looks while another holds it. */
const RETRY_MS = 2_000;
/** After this time without a renewal a holder must have stopped, as the next one may start soon. */
const GIVE_UP_MS = (LEASE_SECONDS * 1000 * 4) / 5;

/**
 * Takes a Lease before work that must not be done twice. The holder renews it every five seconds; if it cannot for four fifths of the
 * lease's time, it must stop, whatever has become of its requests.
 */
export class LeaderElection {
  private held = false;
  private readonly lease: HolderLease;

  constructor(
    client: KubeClient,
    private readonly options: LeaderElectionOptions,
  ) {
    this.lease = new HolderLease(client, options);
  }

  /**
   * Waits until the lease is ours (or the signal aborts; then false), then renews in the background and calls onLost if it is lost. While another
   * holds it, `onStandby` is called at each look.
   */
  async acquire(signal: AbortSignal, onLost: () => void, onStandby?: () => void): Promise<boolean> {
    while (!signal.aborted) {
      if (await this.tryTake(signal)) {
        this.held = true;
        this.options.logger.info({ lease: this.options.name }, "became leader");
        void this.keep(signal, onLost);
        return true;
      }
      if (this.isTaken) onStandby?.();
      await delay(RETRY_MS, signal);
    }
    return false;
  }

  /** Gives the lease up, so that the next one need not wait for it to run out. */
  async release(): Promise<void> {
    if (!this.held) return;
    this.held = false;
    await this.lease.look();
    await this.lease.release();
  }

  private async keep(signal: AbortSignal, onLost: () => void): Promise<void> {
    let renewed = Date.now();
    let pause = RENEW_MS;
    for (;;) {
      await delay(pause, signal);
      if (signal.aborted || !this.held) return;
      const began = Date.now();
      const isRenewed = await this.renewWithin(renewed + GIVE_UP_MS - began, signal);
      if (signal.aborted || !this.held) return;
      const left = renewed + GIVE_UP_MS - Date.now();
      if (!isRenewed && (left <= 0 || this.isTaken)) break;
      // Who watches may have seen it as soon as it was asked for.
      if (isRenewed) renewed = began;
      pause = isRenewed ? RENEW_MS : Math.min(RETRY_MS, left);
    }
    this.held = false;
    this.options.logger.warn({ lease: this.options.name }, "lost leadership");
    onLost();
  }

  /** False also when the time (milliseconds) is over without an answer. */
  private async renewWithin(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (milliseconds <= 0) return false;
    const attempt = new AbortController();
    const end = (): void => attempt.abort();
    signal.addEventListener("abort", end, { once: true });
    const timer = setTimeout(end, milliseconds);
    try {
      if (await this.tryRenew(attempt.signal)) return true;
      return !attempt.signal.aborted && (await this.tryTake(attempt.signal));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** As far as is known. */
  private get isTaken(): boolean {
    return this.lease.holder !== undefined && !this.lease.isOurs;
  }

  /** One request while nobody else writes the lease: it is known as it was left. */
  private async tryRenew(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.lease.claim(signal);
    } catch (error) {
      if (!signal.aborted)
        this.options.logger.debug({ lease: this.options.name, reason: messageOf(error) }, "lease not renewed");
      return false;
    }
  }

  private async tryTake(signal: AbortSignal): Promise<boolean> {
    try {
      await this.lease.look(signal);
      if (this.isTaken && !this.lease.isExpired) return false;
      return await this.lease.claim(signal);
    } catch (error) {
      if (!signal.aborted)
        this.options.logger.debug({ lease: this.options.name, reason: messageOf(error) }, "lease not taken");
      return false;
    }
  }
}
