import { EventResource, type KubeClient } from "../../agent/runtime/index.js";

/** The latest warning event about an object, as text. */
export async function latestWarning(
  client: KubeClient,
  namespace: string,
  involved: { kind: string; name: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const fieldSelector = `type=Warning,involvedObject.kind=${involved.kind},involvedObject.name=${involved.name}`;
  const { items } = await client.list(EventResource, { namespace, fieldSelector, signal });
  const time = (event: (typeof items)[number]): string =>
    event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";
  const latest = items.sort((a, b) => time(a).localeCompare(time(b))).at(-1);
  return latest && `${latest.reason ?? ""}: ${latest.message ?? ""}`;
}
