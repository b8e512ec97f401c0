import type { ContainerStatus, Pod } from "kubernetes-types/core/v1";
import { PodResource, messageOf } from "../../agent/runtime/index.js";
import { waitFor } from "../support/wait.js";
import type { Gone } from "./memory-watch.js";

/** Lines of a process' last words. */
const LINES = 5;
/** A kubelet tells of an end only after the container runs again. */
const TOLD_MS = 10_000;
/** Statuses tell no part of a second. */
const RESOLUTION_MS = 1_000;

/** Why a process has ended, from its pod's status and its container's log; undefined when there is no such pod to be seen any more. */
export async function lastWords({ lab, podUid, lastAt }: Gone): Promise<string | undefined> {
  let pod: Pod | undefined;
  const isTold = (pods: Pod[]): boolean => {
    pod = pods.find(({ metadata }) => metadata?.uid === podUid);
    return !pod || endsOf(pod, lastAt).length > 0;
  };
  const waiting = waitFor(lab.client, PodResource, { timeoutMs: TOLD_MS, what: "the end told" }, isTold);
  // Then it is as it was last seen.
  await waiting.catch(() => undefined);
  if (!pod) return undefined;
  const { name = "", namespace = "", creationTimestamp } = pod.metadata ?? {};
  const ends = endsOf(pod, lastAt);
  if (ends.length === 0) return `pod ${name}, made at ${creationTimestamp}, has not restarted`;
  const options = ["logs", "-n", namespace, name, "--previous", `--tail=${LINES}`];
  const logs = await lab.kubectl(options).catch((error: unknown) => messageOf(error));
  return `pod ${name}: ${ends.join(", ")}: ${logs.trim()}`;
}

function endsOf({ status }: Pod, since: number): string[] {
  return (status?.containerStatuses ?? []).flatMap((container) => endOf(container, since));
}

function endOf({ name, lastState }: ContainerStatus, since: number): string[] {
  const { exitCode, reason, finishedAt = "" } = lastState?.terminated ?? {};
  const isOlder = !(Date.parse(finishedAt) + RESOLUTION_MS > since);
  return exitCode === undefined || isOlder ? [] : [`${name} ended with ${exitCode} (${reason}) at ${finishedAt}`];
}
