import {
  Backoff,
  delay,
  isForbidden,
  isGone,
  isUnreachable,
  keyOf,
  KubeError,
  type KubeClient,
  type KubeList,
  type KubeObject,
  type ListOptions,
  type ResourceType,
} from "../../agent/runtime/index.js";

const WATCH_SECONDS = 300;
const POLL_MS = 500;

/** What to look at: one object, or those of a selector. */
export interface Selected<T extends KubeObject = KubeObject> {
  namespace?: string;
  name?: string;
  labelSelector?: string | Record<string, string>;
  /** The one object, as a write or a look has just returned it: it need not be asked for again. */
  written?: T;
}

/**
 * The objects selected, now and after each change, by list and watch. A broken connection is taken up again; where the credentials allow no watch
 * (a peering user's do not), it is looked at twice a second. Ends when the signal aborts; throws what retrying cannot mend.
 */
export async function* snapshots<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  selected: Selected<T>,
  signal: AbortSignal,
): AsyncGenerator<T[], void> {
  const { namespace, labelSelector, name } = selected;
  let { written } = selected;
  const selection = {
    namespace,
    labelSelector,
    fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
  };
  const backoff = new Backoff(200, 5_000);
  let access: "watch" | "list" | "get" = "watch";
  while (!signal.aborted) {
    try {
      if (access === "get") {
        const object = await client.get(type, { namespace, name: name ?? "" }, signal);
        yield object ? [object] : [];
        await delay(POLL_MS, signal);
        continue;
      }
      const list = written ? listOf(written) : await client.list(type, { ...selection, signal });
      // Once only: when its version is no longer known, or may not be watched, the cluster is asked.
      written = undefined;
      const objects = new Map(list.items.map((object) => [keyOf(object), object]));
      backoff.reset();
      yield [...objects.values()];
      if (access === "list") await delay(POLL_MS, signal);
      else {
        const resourceVersion = list.metadata.resourceVersion;
        yield* changes(client, type, { ...selection, resourceVersion }, objects, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof WatchForbidden && access === "watch") access = "list";
      else if (isForbidden(error) && name !== undefined && access !== "get") access = "get";
      else if (!isTransient(error)) throw error;
      else await delay(backoff.next(), signal);
    }
  }
}

function listOf<T extends KubeObject>(object: T): KubeList<T> {
  return { metadata: { resourceVersion: object.metadata?.resourceVersion }, items: [object] };
}

class WatchForbidden extends Error {}

async function* changes<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  selection: Omit<ListOptions, "signal"> & { resourceVersion?: string },
  objects: Map<string, T>,
  signal: AbortSignal,
): AsyncGenerator<T[], void> {
  const events = client.watch(type, { ...selection, timeoutSeconds: WATCH_SECONDS, signal });
  try {
    for await (const event of events) {
      if (event.type === "ERROR") {
        const { message, code, reason } = event.object;
        throw new KubeError(message ?? "watch error", code ?? 500, reason ?? "Unknown", client.cluster, event.object);
      }
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED") objects.delete(keyOf(event.object));
      else objects.set(keyOf(event.object), event.object);
      yield [...objects.values()];
    }
  } catch (error) {
    if (isForbidden(error)) throw new WatchForbidden();
    throw error;
  }
}

/** What another try may mend: no connection, an expired watch, a busy or restarting API server. */
function isTransient(error: unknown): boolean {
  if (isUnreachable(error) || isGone(error)) return true;
  return error instanceof KubeError && (error.code === 429 || error.code >= 500);
}
