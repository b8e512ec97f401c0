import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { KubeError, messageOf } from "../../../agent/runtime/kube-error.js";
import { keyOf, type KubeObject, type ResourceType } from "../../../agent/runtime/resource-type.js";

export interface WaitContext {
  client: KubeClient;
  signal: AbortSignal;
  status(line: string): void;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string | Record<string, string>;
  fieldSelector?: string;
}

/** A watch that ends is begun anew after this long at the earliest. */
const RELIST_MS = 250;

/**
 * Lists, then watches, until `missing` says that nothing is missing any more (undefined); each new answer of it is a status
 * line. Ends with an error only when the signal aborts or the server refuses.
 */
export async function waitForObjects<T extends KubeObject>(
  context: WaitContext,
  type: ResourceType<T>,
  selection: Selection,
  missing: (present: T[]) => string | undefined,
): Promise<void> {
  let said: string | undefined;
  const isDone = (present: Iterable<T>): boolean => {
    const lacks = missing([...present]);
    if (lacks !== undefined && lacks !== said) context.status(lacks);
    said = lacks;
    return lacks === undefined;
  };
  for (;;) {
    context.signal.throwIfAborted();
    if (await listAndWatch(context, type, selection, isDone)) return;
    await pause(RELIST_MS, context.signal);
  }
}

/** True when done, false when the watch ended before. */
async function listAndWatch<T extends KubeObject>(
  { client, signal }: WaitContext,
  type: ResourceType<T>,
  selection: Selection,
  isDone: (present: Iterable<T>) => boolean,
): Promise<boolean> {
  const list = await client.list(type, { ...selection, signal });
  const present = new Map(list.items.map((item) => [keyOf(item), item]));
  if (isDone(present.values())) return true;
  const end = new AbortController();
  const options = {
    ...selection,
    resourceVersion: list.metadata.resourceVersion,
    signal: AbortSignal.any([signal, end.signal]),
  };
  try {
    for await (const event of client.watch(type, options)) {
      if (event.type === "ERROR") return false;
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED") present.delete(keyOf(event.object));
      else present.set(keyOf(event.object), event.object);
      if (isDone(present.values())) return true;
    }
    return false;
  } catch (error) {
    // A watch may break at any time; what the next list says counts.
    if (error instanceof KubeError && (error.code === 0 || error.code === 410)) return false;
    throw error;
  } finally {
    end.abort();
  }
}

/** Repeats until it works or fails otherwise than expected; at most ten seconds. */
export async function retryUntil<T>(
  work: () => Promise<T>,
  mayFail: (error: unknown) => boolean,
  signal: AbortSignal,
  what: string,
): Promise<T> {
  const deadline = Date.now() + 10_000;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    try {
      return await work();
    } catch (error) {
      if (!mayFail(error)) throw error;
      if (Date.now() > deadline) throw new Error(`${what} was refused for 10 s: ${messageOf(error)}`, { cause: error });
    }
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

/** Waits, and throws at once when the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason instanceof Error ? signal.reason : new Error("cancelled"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
