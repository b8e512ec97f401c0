import type { ContainerStatus, Pod } from "kubernetes-types/core/v1";
import { kubeTime } from "../../runtime/index.js";

/**
 * Whether taking over the remote status would bring a container back that the consumer's API server holds for ended:
 * it refuses that unless the restart policy allows it (offloading specification, §6.4).
 */
export function revivesContainers(local: Pod, remote: Pod): boolean {
  const policy = local.spec?.restartPolicy ?? "Always";
  if (policy === "Always") return false;
  const sidecars = new Set(
    (local.spec?.initContainers ?? []).filter((c) => "restartPolicy" in c).map(({ name }) => name),
  );
  const revived = (before: ContainerStatus[] = [], after: ContainerStatus[] = []): boolean =>
    before.some(({ name, state }) => {
      const ended = state?.terminated;
      if (!ended || sidecars.has(name) || (policy === "OnFailure" && ended.exitCode !== 0)) return false;
      // No status at all: the remote pod has been made anew and not begun yet.
      return !after.find((status) => status.name === name)?.state?.terminated;
    });
  return (
    revived(local.status?.containerStatuses, remote.status?.containerStatuses) ||
    revived(local.status?.initContainerStatuses, remote.status?.initContainerStatuses)
  );
}

/** The statuses with every container ended; those that had not ended get the exit code. */
export function endedContainers(
  statuses: ContainerStatus[] | undefined,
  reason: string,
  exitCode: number,
): ContainerStatus[] | undefined {
  return statuses?.map((status): ContainerStatus => {
    if (status.state?.terminated) return { ...status, ready: false };
    const startedAt = status.state?.running?.startedAt;
    const terminated = { exitCode, reason, finishedAt: kubeTime(), ...(startedAt ? { startedAt } : {}) };
    return { ...status, ready: false, started: false, state: { terminated } };
  });
}
