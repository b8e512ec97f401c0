import type { ContainerStateTerminated, ContainerStatus, Event, Pod } from "kubernetes-types/core/v1";
import { EventResource, PodResource, type KubeClient } from "../../agent/runtime/index.js";

/** Why pods of a selection do not run: scheduling, images, crashes, their latest warnings. Undefined when nothing is wrong with them. */
export async function podProblems(
  client: KubeClient,
  namespace: string,
  labelSelector: string | Record<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.list(PodResource, { namespace, labelSelector, signal });
  if (items.length === 0) return `there is no pod of ${selectorText(labelSelector)} in namespace ${namespace}`;
  const pods = items.filter((pod) => !isHealthy(pod));
  if (pods.length === 0) return undefined;
  const events = await client.list(EventResource, { namespace, fieldSelector: "type=Warning", signal });
  return pods.map((pod) => describePod(pod, events.items)).join("; ");
}

/** One pod's state in words, with its latest warning event. */
export function describePod(pod: Pod, warnings: readonly Event[]): string {
  const states = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
    .map(describeContainer)
    .filter((text) => text !== undefined);
  const unscheduled = pod.status?.conditions?.find((c) => c.type === "PodScheduled" && c.status === "False");
  const latest = warnings
    .filter((event) => event.involvedObject.kind === "Pod" && event.involvedObject.name === pod.metadata?.name)
    .sort((a, b) => timeOf(a).localeCompare(timeOf(b)))
    .at(-1);
  const parts = [
    `pod ${pod.metadata?.name ?? ""} is ${pod.status?.phase ?? "Pending"}`,
    unscheduled && `not scheduled: ${unscheduled.message ?? unscheduled.reason ?? ""}`,
    ...states,
    latest && `last warning: ${latest.reason ?? ""}: ${latest.message ?? ""}`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function describeContainer({ name, ready, state, lastState }: ContainerStatus): string | undefined {
  if (ready) return undefined;
  if (state?.waiting) {
    const { reason = "waiting", message } = state.waiting;
    const exit = lastState?.terminated ? ` after ${describeEnd(lastState.terminated)}` : "";
    return `container ${name}: ${reason}${exit}${message ? `: ${message}` : ""}`;
  }
  if (state?.terminated) return `container ${name}: ended with ${describeEnd(state.terminated)}`;
  return undefined;
}

/** With what the process itself said last. */
function describeEnd({ exitCode, message }: ContainerStateTerminated): string {
  const words = message?.trim().split("\n").at(-1) ?? "";
  return `exit code ${exitCode}${words === "" ? "" : ` (${words})`}`;
}

function isHealthy(pod: Pod): boolean {
  return pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
}

function timeOf(event: Event): string {
  return event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";
}

function selectorText(selector: string | Record<string, string>): string {
  if (typeof selector === "string") return selector;
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
