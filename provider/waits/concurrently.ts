import { setMaxListeners } from "node:events";
import { WaitTimeout } from "./errors.js";
import type { Progress } from "./progress.js";

/** Starts pieces of work that run side by side. */
export interface Scope extends Progress {
  /**
   * Starts the work at once. Its result may be awaited at any later point, so lines can be reported in a fixed order whatever the order in which
   * things happen; a failure ends the whole scope.
   */
  start<T>(work: (progress: Progress) => Promise<T>): Promise<T>;
}

/** Waits that are over at the same time stand in each other's way in no order: all of their causes are told, from either cluster. */
function withOthers(error: unknown, outcomes: readonly PromiseSettledResult<unknown>[]): unknown {
  if (!(error instanceof WaitTimeout)) return error;
  const late = outcomes
    .filter((outcome) => outcome.status === "rejected")
    .map(({ reason }) => reason as unknown)
    .filter((reason) => reason instanceof WaitTimeout)
    .map(({ message }) => message);
  const messages = [...new Set([error.message, ...late])];
  return messages.length === 1 ? error : new WaitTimeout(messages.join("; "));
}

/**
 * Runs the body and all it starts. The first failure of any part cancels the others and is the one thrown (with those of waits that have timed out
 * together with it); nothing runs on once this has returned.
 */
export async function concurrently<R>(progress: Progress, body: (scope: Scope) => Promise<R>): Promise<R> {
  const controller = new AbortController();
  const inner: Progress = {
    status: (line) => progress.status(line),
    log: (severity, line) => progress.log(severity, line),
    signal: AbortSignal.any([progress.signal, controller.signal]),
    deadline: progress.deadline,
  };
  // Every request of every part listens to it: their number is no sign of a leak.
  setMaxListeners(0, inner.signal);
  const tasks: Promise<unknown>[] = [];
  let first: { error: unknown } | undefined;
  const fail = (error: unknown): void => {
    first ??= { error };
    controller.abort();
  };
  const scope: Scope = {
    ...inner,
    start: (work) => {
      const task = work(inner);
      task.catch(fail);
      tasks.push(task);
      return task;
    },
  };
  try {
    const result = await body(scope);
    await Promise.all(tasks);
    return result;
  } catch (error) {
    fail(error);
    throw withOthers(first?.error ?? error, await Promise.allSettled(tasks));
  }
}
