import type { Lease } from "kubernetes-types/coordination/v1";
import { LeaseResource } from "./core-resources.js";
import type { KubeClient } from "./kube-client.js";
import { isAlreadyExists, isConflict } from "./kube-error.js";

export interface HolderLeaseOptions {
  namespace: string;
  name: string;
  /** Who we are: the pod's name. */
  identity: string;
}

/** A holder that has not renewed for this long is replaced. */
export const LEASE_SECONDS = 15;

/** A Lease that says which of several works: taken by compare-and-swap, so that one of those that try succeeds. */
export class HolderLease {
  private lease?: Lease;
  private observed?: { renewTime?: string; holder?: string; at: number };

  constructor(
    private readonly client: KubeClient,
    private readonly options: HolderLeaseOptions,
  ) {}

  /** Reads it anew. */
  async look(signal?: AbortSignal): Promise<void> {
    const { name, namespace } = this.options;
    this.take(await this.client.get(LeaseResource, { name, namespace }, signal));
  }

  get holder(): string | undefined {
    return this.lease?.spec?.holderIdentity || undefined;
  }

  get isOurs(): boolean {
    return this.holder === this.options.identity;
  }

  /** Milliseconds since its holder was first seen to have renewed it last; by our own clock, so that hosts' clocks need not agree. */
  get ageMs(): number {
    return this.observed ? Date.now() - this.observed.at : 0;
  }

  get isExpired(): boolean {
    return this.ageMs > (this.lease?.spec?.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
  }

  /** Makes us the holder, or renews it. False when somebody else was faster. */
  async claim(signal?: AbortSignal): Promise<boolean> {
    const { name, namespace } = this.options;
    try {
      this.take(
        this.lease
          ? await this.client.replace(LeaseResource, { ...this.lease, spec: this.claimed(this.lease) }, { signal })
          : await this.client.create(
              LeaseResource,
              { metadata: { name, namespace }, spec: this.claimed() },
              { signal },
            ),
      );
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Gives it up, so that the next one need not wait. */
  async release(): Promise<void> {
    if (!this.lease || !this.isOurs) return;
    await this.client.replace(LeaseResource, { ...this.lease, spec: { ...this.lease.spec, holderIdentity: "" } });
  }

  private take(lease: Lease | undefined): void {
    this.lease = lease;
    const { renewTime, holderIdentity: holder } = lease?.spec ?? {};
    if (!this.observed || this.observed.renewTime !== renewTime || this.observed.holder !== holder)
      this.observed = { renewTime, holder, at: Date.now() };
  }

  private claimed(present?: Lease): Lease["spec"] {
    const now = microTime();
    const { holderIdentity, leaseTransitions = 0, acquireTime = now } = present?.spec ?? {};
    const { identity } = this.options;
    const isNew = holderIdentity !== identity;
    return {
      ...present?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: now,
      acquireTime: isNew ? now : acquireTime,
      leaseTransitions: present && isNew ? leaseTransitions + 1 : leaseTransitions,
    };
  }
}

/** The present time as Kubernetes' MicroTime. */
export function microTime(date = new Date()): string {
  return date.toISOString().replace("Z", "000Z");
}
