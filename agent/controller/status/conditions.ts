import type { ForeignClusterCondition, ForeignClusterModule } from "../../api/index.js";
import { findCondition, kubeTime } from "../../runtime/index.js";

/** What a pass found; the time of the last change is added from what was there. */
export type ConditionFinding = Omit<ForeignClusterCondition, "lastTransitionTime">;

/** The conditions of a complete pass: exactly those found, each with the time when its status last changed. */
export function dated(
  findings: readonly ConditionFinding[],
  old: readonly ForeignClusterCondition[] | undefined,
): ForeignClusterCondition[] {
  return findings.map((finding) => {
    const before = findCondition(old, finding.type);
    const same = before?.status === finding.status;
    return { ...finding, lastTransitionTime: (same ? before.lastTransitionTime : undefined) ?? kubeTime() };
  });
}

/** A module that is in use, or one that is not and then has no conditions. */
export function moduleStatus(
  enabled: boolean,
  findings: readonly ConditionFinding[],
  old: ForeignClusterModule | undefined,
): ForeignClusterModule {
  return enabled ? { enabled, conditions: dated(findings, old?.conditions) } : { enabled };
}
