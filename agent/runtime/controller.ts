import type { Informer, InformerEvent } from "./informer.js";
import { isConflict, messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";
import { keyOf, type KubeObject } from "./resource-type.js";
import { WorkQueue } from "./work-queue.js";

/** What a pass asks for: another look after so many milliseconds, or nothing until the next event. */
export interface ReconcileResult {
  requeueAfterMs?: number;
}

export interface ControllerOptions {
  name: string;
  /** Level-based: brings the world to what the key's object asks for, from what is there. Throw to retry with back-off. */
  reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | void>;
  /** Keys worked on at the same time. Default 2. */
  workers?: number;
  logger: Logger;
}

/** What is counted of a controller's work. */
export interface ControllerFigures {
  name: string;
  passes: number;
  /** Of the passes. */
  failures: number;
  /** Time in passes. */
  seconds: number;
  /** Keys that wait. */
  queued: number;
}

/** An error that another try cannot mend: it is logged (and should be told in an event or status) but not retried until something changes. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Joins informers and a reconcile function by a work queue. */
export class Controller {
  readonly name: string;
  private readonly queue = new WorkQueue();
  private readonly abort = new AbortController();
  private running: Promise<void>[] = [];
  /** Since the start, for those who watch. */
  private readonly done = { passes: 0, failures: 0, seconds: 0 };

  constructor(private readonly options: ControllerOptions) {
    this.name = options.name;
  }

  get figures(): ControllerFigures {
    return { name: this.name, ...this.done, queued: this.queue.length };
  }

  /** Enqueues the object's own key, or the keys that `map` names, on each event. An update maps both the old and the new object. */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    map?: (object: T, event: InformerEvent<T>) => Iterable<string>,
    { isUrgent = false }: { isUrgent?: boolean } = {},
  ): this {
    informer.onEvent((event) => {
      if (!map) return this.queue.add(keyOf(event.object), isUrgent);
      if (event.type === "updated") for (const key of map(event.old, event)) this.queue.add(key, isUrgent);
      for (const key of map(event.object, event)) this.queue.add(key, isUrgent);
    });
    return this;
  }

  enqueue(key: string): void {
    this.queue.add(key);
  }

  enqueueAfter(key: string, milliseconds: number): void {
    this.queue.addAfter(key, milliseconds);
  }

  start(): void {
    const workers = this.options.workers ?? 2;
    this.running = Array.from({ length: workers }, () => this.work());
  }

  async stop(): Promise<void> {
    this.abort.abort();
    this.queue.close();
    await Promise.all(this.running);
  }

  private async work(): Promise<void> {
    for (;;) {
      const key = await this.queue.take();
      if (key === undefined) return;
      const began = performance.now();
      await this.pass(key);
      this.done.passes += 1;
      this.done.seconds += (performance.now() - began) / 1000;
      this.queue.done(key);
    }
  }

  private async pass(key: string): Promise<void> {
    const { reconcile, logger, name } = this.options;
    try {
      const result = await reconcile(key, this.abort.signal);
      this.queue.forget(key);
      if (result?.requeueAfterMs !== undefined) this.queue.addAfter(key, result.requeueAfterMs);
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.done.failures += isConflict(error) ? 0 : 1;
      if (error instanceof TerminalError) {
        logger.warn({ controller: name, key, reason: error.message }, "cannot reconcile until something changes");
        return;
      }
      // Two writers met: looking again is all there is to do, and nothing that a person needs to read.
      if (isConflict(error)) logger.debug({ controller: name, key }, "conflict, will retry");
      else logger.warn({ controller: name, key, reason: messageOf(error) }, "reconcile failed, will retry");
      this.queue.addRateLimited(key);
    }
  }
}
