import type { ContainerStatus, Pod } from "kubernetes-types/core/v1";
import { PodResource, messageOf } from "../../agent/runtime/index.js";
import type { LabCluster } from "../support/lab.js";

/** Lines of a process' last words. */
const LINES = 5;

/** Why the containers of a role, one by one, have ended by themselves: nothing else is to be learned of a process that has gone. */
export async function lastWords(lab: LabCluster, role: string): Promise<string> {
  const { items } = await lab.client.list(PodResource);
  const pods = items.filter(({ spec }) => spec?.containers.some(({ args = [] }) => args[0] === role));
  const words = await Promise.all(pods.map((pod) => wordsOf(lab, pod)));
  return words.join("; ") || "its pod has gone as well";
}

async function wordsOf(lab: LabCluster, { metadata, status }: Pod): Promise<string> {
  const { name = "", namespace = "", creationTimestamp } = metadata ?? {};
  const ends = (status?.containerStatuses ?? []).flatMap(endOf);
  if (ends.length === 0) return `pod ${name}, made at ${creationTimestamp}, has not restarted`;
  const options = ["logs", "-n", namespace, name, "--previous", `--tail=${LINES}`];
  const logs = await lab.kubectl(options).catch((error: unknown) => messageOf(error));
  return `pod ${name}: ${ends.join(", ")}: ${logs.trim()}`;
}

function endOf({ name, lastState }: ContainerStatus): string[] {
  const { exitCode, reason, finishedAt } = lastState?.terminated ?? {};
  return exitCode === undefined ? [] : [`${name} ended with ${exitCode} (${reason}) at ${finishedAt}`];
}
