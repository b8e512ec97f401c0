export interface ConditionLike {
  type: string;
  status: string;
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
}

/** The present time as Kubernetes' Time (whole seconds, UTC). */
export function kubeTime(date = new Date()): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The list with the condition set; lastTransitionTime moves only when the status does. The list given is not changed. */
export function withCondition<C extends ConditionLike>(conditions: readonly C[] | undefined, condition: C): C[] {
  const list = conditions ?? [];
  const old = list.find(({ type }) => type === condition.type);
  const lastTransitionTime =
    old?.status === condition.status && old.lastTransitionTime
      ? old.lastTransitionTime
      : (condition.lastTransitionTime ?? kubeTime());
  const next = { ...condition, lastTransitionTime };
  return old ? list.map((c) => (c.type === condition.type ? next : c)) : [...list, next];
}

export function findCondition<C extends ConditionLike>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}
