import type { ReplicaSet } from "kubernetes-types/apps/v1";
import type { ContainerStateTerminated, ContainerStatus, Event, Pod } from "kubernetes-types/core/v1";
import { EventResource, PodResource, type KubeClient, type ResourceType } from "../../agent/runtime/index.js";
import { ifVisible } from "./if-found.js";

const ReplicaSetResource: ResourceType<ReplicaSet> = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
};

/** Why pods of a selection do not run: scheduling, images, crashes, their latest warnings. Undefined when nothing is wrong with them. */
export async function podProblems(
  client: KubeClient,
  namespace: string,
  labelSelector: string | Record<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.list(PodResource, { namespace, labelSelector, signal });
  if (items.length === 0) return whyNone(client, namespace, labelSelector, signal);
  const pods = items.filter((pod) => !isHealthy(pod));
  if (pods.length === 0) return undefined;
  const events = await client.list(EventResource, { namespace, fieldSelector: "type=Warning", signal });
  return pods.map((pod) => describePod(pod, events.items)).join("; ");
}

/** What keeps a Deployment from making pods: a quota, a policy. Only its ReplicaSets tell. */
async function whyNone(
  client: KubeClient,
  namespace: string,
  labelSelector: string | Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const none = `there is no pod of ${selectorText(labelSelector)} in namespace ${namespace}`;
  return [none, ...(await podsDenied(client, { namespace, labelSelector }, signal))].join(": ");
}

/** Why pods were not even made, as ReplicaSets tell it; nothing where credentials may not look. */
export async function podsDenied(
  client: KubeClient,
  selection: { namespace: string; labelSelector?: string | Record<string, string> },
  signal: AbortSignal,
): Promise<string[]> {
  const sets = await ifVisible(client.list(ReplicaSetResource, { ...selection, signal }));
  return (sets?.items ?? [])
    .flatMap(({ status }) => status?.conditions ?? [])
    .filter(({ type, status }) => type === "ReplicaFailure" && status === "True")
    .map(({ reason, message }) => `${reason ?? "ReplicaFailure"}: ${message ?? ""}`);
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
