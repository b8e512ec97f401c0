import type { RuntimeClass } from "kubernetes-types/node/v1";
import { Labels, type ResourceList, type ShadowPod } from "../../api/index.js";
import { keyOf, type Informer } from "../../runtime/index.js";
import { podCost } from "./pod-cost.js";
import { withOverhead } from "./runtime-overhead.js";
import { totalCost } from "./shadow-pod-quota.js";

const CREATOR_INDEX = "creator-user";
/** How long an admitted pod counts without being seen: by then the watch has shown it, or it was never stored. */
const RESERVATION_MS = 10_000;

/**
 * What each user's ShadowPods take, summed from the watched objects at each question, so that there is no ledger that could
 * drift. Pods admitted a moment ago and not yet seen are remembered, so that a burst cannot exceed the quota.
 */
export class QuotaUsage {
  private costs = new WeakMap<ShadowPod, ResourceList>();
  private readonly reservations = new Map<string, { user: string; cost: ResourceList; until: number }>();

  constructor(
    private readonly shadowPods: Informer<ShadowPod>,
    private readonly runtimeClasses: Informer<RuntimeClass>,
    private readonly now: () => number = Date.now,
  ) {
    shadowPods.addIndex(CREATOR_INDEX, ({ metadata }) => {
      const user = metadata.labels?.[Labels.creatorUser];
      return user ? [user] : [];
    });
    runtimeClasses.onEvent(() => (this.costs = new WeakMap()));
    shadowPods.onEvent(({ object }) => this.reservations.delete(keyOf(object)));
  }

  /** What a user's pods take, one of them excepted. Pods that have ended take nothing. */
  usedBy(user: string, exceptKey: string): ResourceList {
    const present = this.shadowPods.byIndex(CREATOR_INDEX, user).filter((shadow) => keyOf(shadow) !== exceptKey);
    return totalCost([...present.map((shadow) => this.costOf(shadow)), ...this.reservedBy(user, exceptKey)]);
  }

  reserve(user: string, key: string, cost: ResourceList): void {
    this.reservations.set(key, { user, cost, until: this.now() + RESERVATION_MS });
  }

  private reservedBy(user: string, exceptKey: string): ResourceList[] {
    const now = this.now();
    for (const [key, { until }] of this.reservations) if (until < now) this.reservations.delete(key);
    return [...this.reservations]
      .filter(([key, r]) => r.user === user && key !== exceptKey)
      .map(([, { cost }]) => cost);
  }

  private costOf(shadow: ShadowPod): ResourceList {
    const phase = shadow.status?.phase;
    if (phase === "Succeeded" || phase === "Failed" || !shadow.spec.pod) return {};
    const known = this.costs.get(shadow) ?? podCost(withOverhead(shadow.spec.pod, this.runtimeClasses));
    this.costs.set(shadow, known);
    return known;
  }
}
