import type { KubeClient, KubeObject, ListOptions, ResourceType } from "../../agent/runtime/index.js";
import { keyOf } from "../../agent/runtime/index.js";

/**
 * Watches a kind until the predicate holds for the set of its objects, and returns what the predicate returned.
 * Throws after the deadline (milliseconds) with what was waited for and how it stood.
 */
export async function waitFor<T extends KubeObject, R>(
  client: KubeClient,
  type: ResourceType<T>,
  options: ListOptions & { timeoutMs: number; what: string; describe?: (objects: T[]) => string },
  predicate: (objects: T[]) => R | undefined | false,
): Promise<R> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), options.timeoutMs);
  const objects = new Map<string, T>();
  try {
    while (!abort.signal.aborted) {
      const list = await client.list(type, { ...options, signal: abort.signal });
      objects.clear();
      for (const object of list.items) objects.set(keyOf(object), object);
      const first = predicate([...objects.values()]);
      if (first !== undefined && first !== false) return first;
      const watch = client.watch(type, {
        ...options,
        resourceVersion: list.metadata.resourceVersion,
        signal: abort.signal,
      });
      for await (const event of watch) {
        if (event.type === "ERROR") break;
        if (event.type === "BOOKMARK") continue;
        if (event.type === "DELETED") objects.delete(keyOf(event.object));
        else objects.set(keyOf(event.object), event.object);
        const result = predicate([...objects.values()]);
        if (result !== undefined && result !== false) return result;
      }
    }
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
  const state = options.describe?.([...objects.values()]) ?? `${objects.size} ${type.plural}`;
  throw new Error(
    `cluster ${client.cluster}: ${options.what} did not happen within ${options.timeoutMs / 1000} s; now: ${state}`,
  );
}
