import { delay } from "./backoff.js";
import { HolderLease, LEASE_SECONDS, type HolderLeaseOptions } from "./holder-lease.js";
import type { KubeClient } from "./kube-client.js";
import { messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";

export interface LeaderElectionOptions extends HolderLeaseOptions {
  logger: Logger;
}

/** Between renewals, and between looks while another holds it. */
const RETRY_MS = 2_000;
/** Silent for this long, a holder must stop, before anyone else may start. */
const GIVE_UP_MS = (LEASE_SECONDS * 1000 * 2) / 3;

/**
 * Takes a Lease before work that must not be done twice. The holder renews it every two seconds; if it cannot for two thirds of the
 * lease's time, it must stop.
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

  /** Waits until the lease is ours (or the signal aborts; then false), then renews in the background and calls onLost if it is lost. */
  async acquire(signal: AbortSignal, onLost: () => void): Promise<boolean> {
    while (!signal.aborted) {
      if (await this.tryTake(signal)) {
        this.held = true;
        this.options.logger.info({ lease: this.options.name }, "became leader");
        void this.keep(signal, onLost);
        return true;
      }
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
    while (!signal.aborted && this.held) {
      await delay(RETRY_MS, signal);
      if (signal.aborted || !this.held) return;
      if ((await this.tryRenew(signal)) || (await this.tryTake(signal))) {
        renewed = Date.now();
        continue;
      }
      if (Date.now() - renewed > GIVE_UP_MS) {
        this.held = false;
        this.options.logger.warn({ lease: this.options.name }, "lost leadership");
        return onLost();
      }
    }
  }

  /** One request while nobody else writes the lease: it is known as it was left. */
  private async tryRenew(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.lease.claim();
    } catch (error) {
      if (!signal.aborted)
        this.options.logger.debug({ lease: this.options.name, reason: messageOf(error) }, "lease not renewed");
      return false;
    }
  }

  private async tryTake(signal: AbortSignal): Promise<boolean> {
    try {
      await this.lease.look(signal);
      const { holder, isOurs, isExpired } = this.lease;
      if (holder !== undefined && !isOurs && !isExpired) return false;
      return await this.lease.claim();
    } catch (error) {
      if (!signal.aborted)
        this.options.logger.debug({ lease: this.options.name, reason: messageOf(error) }, "lease not taken");
      return false;
    }
  }
}
