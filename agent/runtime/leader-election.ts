import type { Lease } from "kubernetes-types/coordination/v1";
import { delay } from "./backoff.js";
import { LeaseResource } from "./core-resources.js";
import type { KubeClient } from "./kube-client.js";
import { isConflict, messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";

export interface LeaderElectionOptions {
  namespace: string;
  name: string;
  /** Who we are: the pod's name. */
  identity: string;
  /** Seconds after which a silent holder is replaced. Default 15. */
  leaseSeconds?: number;
  /** Milliseconds between renewals, and between looks while another holds it. Default 2000. */
  retryMs?: number;
  logger: Logger;
  labels?: Record<string, string>;
}

/**
 * Takes a Lease before work that must not be done twice. The holder renews it every two seconds; if it cannot for two thirds of the
 * lease's time, it must stop, before anyone else may start.
 */
export class LeaderElection {
  private held = false;
  private observed?: { renewTime: string | undefined; holder: string | undefined; at: number };

  constructor(
    private readonly client: KubeClient,
    private readonly options: LeaderElectionOptions,
  ) {}

  get isLeader(): boolean {
    return this.held;
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
      await delay(this.retryMs, signal);
    }
    return false;
  }

  /** Gives the lease up, so that the next one need not wait for it to run out. */
  async release(): Promise<void> {
    if (!this.held) return;
    this.held = false;
    const lease = await this.read();
    if (lease?.spec?.holderIdentity !== this.options.identity) return;
    await this.client.replace(LeaseResource, { ...lease, spec: { ...lease.spec, holderIdentity: "" } });
  }

  private get retryMs(): number {
    return this.options.retryMs ?? 2_000;
  }

  private get leaseSeconds(): number {
    return this.options.leaseSeconds ?? 15;
  }

  private read(signal?: AbortSignal): Promise<Lease | undefined> {
    return this.client.get(LeaseResource, this.options, signal);
  }

  private async keep(signal: AbortSignal, onLost: () => void): Promise<void> {
    let renewed = Date.now();
    while (!signal.aborted && this.held) {
      await delay(this.retryMs, signal);
      if (signal.aborted || !this.held) return;
      if (await this.tryTake(signal)) {
        renewed = Date.now();
        continue;
      }
      if (Date.now() - renewed > (this.leaseSeconds * 1000 * 2) / 3) {
        this.held = false;
        this.options.logger.warn({ lease: this.options.name }, "lost leadership");
        return onLost();
      }
    }
  }

  private async tryTake(signal: AbortSignal): Promise<boolean> {
    try {
      const lease = await this.read(signal);
      if (!lease) {
        await this.client.create(LeaseResource, this.fresh());
        return true;
      }
      if (lease.spec?.holderIdentity !== this.options.identity && !this.isStale(lease)) return false;
      await this.client.replace(LeaseResource, this.taken(lease));
      return true;
    } catch (error) {
      if (!isConflict(error) && !signal.aborted) {
        this.options.logger.debug({ lease: this.options.name, reason: messageOf(error) }, "lease not taken");
      }
      return false;
    }
  }

  /** Judged by our own clock from when we first saw the holder's last renewal, so clocks of two hosts need not agree. */
  private isStale(lease: Lease): boolean {
    const { holderIdentity: holder, renewTime } = lease.spec ?? {};
    if (!holder) return true;
    if (this.observed?.renewTime !== renewTime || this.observed?.holder !== holder) {
      this.observed = { renewTime, holder, at: Date.now() };
    }
    return Date.now() - this.observed.at > (lease.spec?.leaseDurationSeconds ?? this.leaseSeconds) * 1000;
  }

  private fresh(): Lease {
    const { name, namespace, identity, labels } = this.options;
    const now = microTime();
    return {
      metadata: { name, namespace, labels },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: this.leaseSeconds,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    };
  }

  private taken(lease: Lease): Lease {
    const ours = lease.spec?.holderIdentity === this.options.identity;
    const now = microTime();
    return {
      ...lease,
      spec: {
        ...lease.spec,
        holderIdentity: this.options.identity,
        leaseDurationSeconds: this.leaseSeconds,
        renewTime: now,
        ...(ours ? {} : { acquireTime: now, leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 }),
      },
    };
  }
}

/** The present time as Kubernetes' MicroTime. */
export function microTime(date = new Date()): string {
  return date.toISOString().replace("Z", "000Z");
}
