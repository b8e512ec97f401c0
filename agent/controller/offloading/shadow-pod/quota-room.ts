import type { Pod, PodSpec } from "kubernetes-types/core/v1";
import type { RuntimeClass } from "kubernetes-types/node/v1";
import {
  compareQuantities,
  escapeUser,
  Labels,
  subtractQuantities,
  type Quota,
  type ResourceList,
  type ShadowPod,
} from "../../../api/index.js";
import { keyOf, type Informer } from "../../../runtime/index.js";
import { resized } from "../../../virtual-node/pods/pod-changes.js";
import { isMore, podCost } from "../../webhooks/pod-cost.js";
import { withOverhead } from "../../webhooks/runtime-overhead.js";
import { hasEnded } from "../has-ended.js";
import { quotaProblem, totalCost } from "../../webhooks/shadow-pod-quota.js";

const CREATOR_INDEX = "offloading/creator-user";

/** Judged when a ShadowPod comes in: a later cordon, or stricter rules, leave alone those that are there. */
const ADMITTED = { cordoned: false, limitsEnforcement: "None" } as const;

/**
 * The last word on a user's quota, given by the one controller that makes Pods: what runs never exceeds what was granted, also when admission, which has
 * several replicas, has let more ShadowPods in, or a smaller grant has come since. Counts the Pods that are there, also those
 * that are ending, not what asks for them.
 */
export class QuotaRoom {
  private readonly reserved = new Map<string, { user: string; cost: ResourceList }>();
  private readonly waiting = new Map<string, string>();
  /** Pods that could not stay as they were made, by their ShadowPods' keys: they would be made so again. */
  private readonly refused = new Map<string, PodSpec>();
  private readonly costs = new WeakMap<Pod, ResourceList>();

  constructor(
    private readonly quotas: Informer<Quota>,
    private readonly pods: Informer<Pod>,
    private readonly runtimeClasses: Informer<RuntimeClass>,
  ) {
    pods.addIndex(CREATOR_INDEX, (pod) => userOf(pod) ?? []);
  }

  /**
   * Takes room for a ShadowPod's Pod as it is to be, in place of what the Pod takes now. Returns why there is none, or undefined when it has been taken: until
   * `settle`, at which the Pod must be in the cache. A ShadowPod that names no user was made where nothing is enforced.
   */
  take(shadow: ShadowPod): string | undefined {
    const [user] = userOf(shadow) ?? [];
    if (!user || !shadow.spec.pod) return undefined;
    const key = keyOf(shadow);
    const quota = this.quotas.list().find(({ spec }) => escapeUser(spec.user) === user);
    const wanted = this.wanted(key, shadow.spec.pod);
    const problem = quota
      ? quotaProblem(wanted, { ...quota.spec, ...ADMITTED }, this.usedBy(user, key))
      : `there is no Quota for user ${user} any more`;
    if (problem) {
      this.waiting.set(key, user);
      return problem;
    }
    this.waiting.delete(key);
    this.reserved.set(key, { user, cost: podCost(wanted) });
    return undefined;
  }

  /** What room has been taken, until it is settled. */
  takenFor(shadow: ShadowPod): ResourceList | undefined {
    return this.reserved.get(keyOf(shadow))?.cost;
  }

  /**
   * Judges a Pod as it has been made, or would be: the cluster's admission may have given it more than was asked for, as a LimitRange does, or a sidecar that is put
   * in. Returns why there is no room for it, or undefined when it may stay.
   */
  confirm(shadow: ShadowPod, { spec }: Pod): string | undefined {
    const key = keyOf(shadow);
    const reserved = this.reserved.get(key);
    this.refused.delete(key);
    if (!reserved || !spec || !isMore(podCost(spec), reserved.cost)) return undefined;
    this.refused.set(key, spec);
    const problem = this.take(shadow);
    if (!problem) this.refused.delete(key);
    return problem;
  }

  /** The Pod is there, or will not be. */
  settle(shadow: ShadowPod): void {
    this.reserved.delete(keyOf(shadow));
  }

  /** Nothing waits for room under this key any more. */
  forget(key: string): void {
    this.waiting.delete(key);
    this.refused.delete(key);
  }

  /** Keys of the ShadowPods that a user's room is too small for; all users' when none is named. */
  waitingFor(user?: string): string[] {
    return [...this.waiting].filter(([, other]) => user === undefined || other === user).map(([key]) => key);
  }

  /** What the user's Pods take beyond the Quota, by resource; empty when they are within it. Pods are counted where the Quota does. */
  excessOf({ spec }: Quota): ResourceList {
    const used = Object.entries(this.usedBy(escapeUser(spec.user)));
    const beyond = used
      .filter(([resource]) => resource !== "pods" || spec.resources["pods"] !== undefined)
      .map(([resource, amount]) => [resource, subtractQuantities(amount, spec.resources[resource] ?? 0)] as const);
    return Object.fromEntries(beyond.filter(([, amount]) => compareQuantities(amount, 0) > 0));
  }

  /** A Pod as it is to be, with what this cluster gives it beyond what is asked for: one that is there has it already, and one that could not stay had it. */
  private wanted(key: string, asked: PodSpec): PodSpec {
    const present = this.pods.get(key)?.spec ?? this.refused.get(key);
    return present ? resized(present, asked) : withOverhead(asked, this.runtimeClasses);
  }

  /** What is reserved counts in place of what its Pod takes yet. */
  private usedBy(user: string, exceptKey?: string): ResourceList {
    const running = this.pods
      .byIndex(CREATOR_INDEX, user)
      .filter((pod) => !hasEnded(pod) && keyOf(pod) !== exceptKey && !this.reserved.has(keyOf(pod)))
      .map((pod) => this.costOf(pod));
    const reserved = [...this.reserved]
      .filter(([key, one]) => one.user === user && key !== exceptKey)
      .map(([, { cost }]) => cost);
    return totalCost([...running, ...reserved]);
  }

  private costOf(pod: Pod): ResourceList {
    const cost = this.costs.get(pod) ?? podCost(pod.spec ?? { containers: [] });
    this.costs.set(pod, cost);
    return cost;
  }
}

/** Who made the ShadowPod, which its Pod's labels tell too. */
export function userOf({ metadata }: Pod | ShadowPod): [string] | undefined {
  const user = metadata?.labels?.[Labels.creatorUser];
  return user ? [user] : undefined;
}
