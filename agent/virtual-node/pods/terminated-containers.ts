import type { Container, ContainerStatus, Pod } from "kubernetes-types/core/v1";
import { kubeTime } from "../../runtime/index.js";

/** Younger than the published types. */
interface RestartRule {
  action: string;
  exitCodes?: { operator: string; values?: number[] };
}
type RuledContainer = Container & { restartPolicyRules?: RestartRule[] };

/**
 * Whether taking over the remote status would bring a container back that the consumer's API server holds for ended:
 * it refuses that unless the restart policy allows it (offloading specification, §6.4).
 */
export function revivesContainers(local: Pod, remote: Pod): boolean {
  const containers: RuledContainer[] = [...(local.spec?.initContainers ?? []), ...(local.spec?.containers ?? [])];
  if (containers.some(mayRestartAll)) return false;
  const podPolicy = local.spec?.restartPolicy ?? "Always";
  const revived = (before: ContainerStatus[] = [], after: ContainerStatus[] = []): boolean =>
    before.some(({ name, state }) => {
      const ended = state?.terminated;
      const container = containers.find((one) => one.name === name);
      if (!ended || mayRestart(container, podPolicy, ended.exitCode)) return false;
      // No status at all: the remote pod has been made anew and not begun yet.
      return !after.find((status) => status.name === name)?.state?.terminated;
    });
  return (
    revived(local.status?.containerStatuses, remote.status?.containerStatuses) ||
    revived(local.status?.initContainerStatuses, remote.status?.initContainerStatuses)
  );
}

/**
 * Statuses of ephemeral containers, each that has ended here as it was told: none is ever started again, and one that the provider starts in
 * a pod made anew would have the API server refuse the whole status, under any restart policy.
 */
export function withEndedDebuggers(
  remote: ContainerStatus[] | undefined,
  local: ContainerStatus[] = [],
): ContainerStatus[] | undefined {
  const ended = local.filter(({ state }) => state?.terminated);
  if (ended.length === 0) return remote;
  const present = (remote ?? []).map((status) => ended.find(({ name }) => name === status.name) ?? status);
  return [...present, ...ended.filter((status) => !present.includes(status))];
}

/** Such a rule starts every other container again, however that has ended. */
function mayRestartAll({ restartPolicyRules }: RuledContainer): boolean {
  return restartPolicyRules?.some(({ action }) => action === "RestartAllContainers") ?? false;
}

/** By its own rules, else by its own policy, else by the pod's. */
function mayRestart(container: RuledContainer | undefined, podPolicy: string, exitCode: number): boolean {
  const rule = container?.restartPolicyRules?.find((one) => isMet(one, exitCode));
  if (rule?.action === "Restart") return true;
  const policy = container?.restartPolicy ?? podPolicy;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function isMet({ exitCodes }: RestartRule, exitCode: number): boolean {
  const listed = exitCodes?.values?.includes(exitCode) ?? false;
  return (exitCodes?.operator === "In" && listed) || (exitCodes?.operator === "NotIn" && !listed);
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
