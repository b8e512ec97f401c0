import {
  describeObject,
  messageOf,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { Cancelled, Refused, WaitTimeout } from "./errors.js";
import type { Progress } from "./progress.js";
import { snapshots } from "./snapshots.js";

/** What an observer makes of the objects as they are now. */
export type Verdict<R> = { done: R } | Waiting | { failed: string };

export interface Waiting {
  waiting: string;
  /** Milliseconds for which this is waited for and no longer, as little speaks for it ever to change. Default: as long as the call has time. */
  forMs?: number;
}

export interface WaitRequest<T extends KubeObject, R> {
  client: KubeClient;
  type: ResourceType<T>;
  namespace?: string;
  /** One object; else all of the selector. */
  name?: string;
  labelSelector?: string | Record<string, string>;
  /** The one object, as a write or a look has just returned it. */
  written?: T;
  /** What is waited for, as messages put it: "the gateway server's endpoint". */
  what: string;
  judge: (objects: T[]) => Verdict<R>;
  /** When the waiting began of which this is a part, milliseconds since the epoch. Default: now. */
  since?: number;
  /** Asked once time is over: what in the cluster explains it. Failures of its own are ignored. */
  explain?: (signal: AbortSignal) => Promise<string | undefined>;
}

/** Left of a call's time to find out why a wait has failed. */
const EXPLAIN_MS = 2_000;
/** A wait shorter than this is not worth a line. */
const QUIET_MS = 1_500;

/**
 * Watches until the verdict is done or failed.
 *
 * @throws WaitTimeout naming cluster, thing, last state and cause; Cancelled; Refused for a verdict of failure
 */
export async function waitFor<T extends KubeObject, R>(progress: Progress, request: WaitRequest<T, R>): Promise<R> {
  const started = Date.now();
  // Time for the explanation is kept back, but never more than half of what there is.
  const left = progress.deadline - started;
  const patience = Math.max(0, left - Math.min(EXPLAIN_MS, left / 2));
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), Math.min(patience, 2 ** 31 - 1));
  let hopeless: NodeJS.Timeout | undefined;
  const ticker = liveLine(progress, request.what);
  try {
    const { client, type, namespace, labelSelector, name, written } = request;
    const signal = AbortSignal.any([progress.signal, ended.signal]);
    for await (const objects of snapshots(client, type, { namespace, labelSelector, name, written }, signal)) {
      const verdict = request.judge(objects);
      if ("done" in verdict) return verdict.done;
      if ("failed" in verdict) throw new Refused(`cluster ${client.cluster}, ${request.what}: ${verdict.failed}`);
      ticker.reason = verdict.waiting;
      if (verdict.forMs !== undefined) hopeless ??= setTimeout(() => ended.abort(), verdict.forMs);
      else {
        clearTimeout(hopeless);
        hopeless = undefined;
      }
    }
  } catch (error) {
    if (error instanceof Refused || (!progress.signal.aborted && !ended.signal.aborted)) throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(hopeless);
    clearInterval(ticker.timer);
  }
  if (!ended.signal.aborted) throw new Cancelled(request.what);
  throw await timedOut(request, ticker.reason, Date.now() - (request.since ?? started));
}

/** Waits until the object is gone. */
export async function waitUntilGone(
  progress: Progress,
  client: KubeClient,
  type: ResourceType,
  id: { namespace?: string; name: string },
  explain?: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<void> {
  await waitFor(progress, {
    client,
    type,
    ...id,
    what: `the end of ${describeObject(type, id.name, id.namespace)}`,
    judge: (objects) => (objects.length === 0 ? { done: undefined } : { waiting: describeRemaining(objects) }),
    explain,
  });
}

export interface Selection {
  namespace?: string;
  labelSelector?: string | Record<string, string>;
  /** Further choice among those found. */
  filter?: (object: KubeObject) => boolean;
}

/** Waits until no object of the selection is left. */
export async function waitUntilNone(
  progress: Progress,
  client: KubeClient,
  type: ResourceType,
  { filter = () => true, ...selection }: Selection,
  explain?: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<void> {
  const where = selection.namespace ? ` in ${selection.namespace}` : "";
  await waitFor(progress, {
    client,
    type,
    ...selection,
    what: `the end of all ${type.plural}${where}`,
    judge: (objects) => {
      const left = objects.filter(filter);
      return left.length === 0 ? { done: undefined } : { waiting: describeRemaining(left) };
    },
    explain,
  });
}

/** "a is still there (finalizers: x); b …": what blocks a deletion. */
export function describeRemaining(objects: readonly KubeObject[]): string {
  return objects
    .map(({ metadata }) => {
      if (metadata?.deletionTimestamp === undefined) return `${metadata?.name ?? ""} is there and not being deleted`;
      const finalizers = metadata.finalizers ?? [];
      const held = finalizers.length > 0 ? ` (held by ${finalizers.join(", ")})` : "";
      return `${metadata.name ?? ""} is being deleted${held}`;
    })
    .join("; ");
}

async function timedOut<T extends KubeObject, R>(
  { client, what, explain }: WaitRequest<T, R>,
  reason: string,
  milliseconds: number,
): Promise<WaitTimeout> {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  const cause = await explain?.(AbortSignal.timeout(EXPLAIN_MS)).catch((error: unknown) => messageOf(error));
  const parts = [reason, cause].filter((part) => part !== undefined && part !== "");
  return new WaitTimeout(`cluster ${client.cluster}: waited ${seconds} s in vain for ${what}: ${parts.join("; ")}`);
}

/** Shows what a long wait hangs on, whenever that changes. */
function liveLine(progress: Progress, what: string): { reason: string; timer: NodeJS.Timeout } {
  const line = { reason: "no answer from the API server yet", timer: undefined as unknown as NodeJS.Timeout };
  let shown = "";
  line.timer = setInterval(() => {
    if (line.reason === shown) return;
    shown = line.reason;
    progress.status(`waiting for ${what}: ${line.reason}`);
  }, QUIET_MS);
  return line;
}
