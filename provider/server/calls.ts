import { setMaxListeners } from "node:events";
import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { ClusterArgs } from "../framework/cluster-args.js";
import type { CallContext, Severity } from "../framework/context.js";
import type { ProviderConfig } from "../framework/provider-config.js";
import type { EngineLog } from "./engine.js";
import { Redaction } from "./redaction.js";
import { messageOf } from "../../agent/runtime/kube-error.js";

/** How long a hook may take to end by itself once its signal has aborted; the answer goes out then in any case. */
const GRACE_MS = 400;

export interface CallOptions {
  urn: string;
  name: string;
  timeoutSeconds: number;
}

/** One call in progress: its context, its end, and what must not leak from it. */
export class Call implements CallContext {
  readonly urn: string;
  readonly name: string;
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly redaction = new Redaction();
  private readonly abort = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private lastStatus = "";
  private endedBy?: string;

  constructor(
    options: CallOptions,
    readonly config: ProviderConfig,
    private readonly engine: EngineLog,
    private readonly clients: (cluster: ClusterArgs | undefined) => Promise<KubeClient>,
  ) {
    this.urn = options.urn;
    this.name = options.name;
    this.signal = this.abort.signal;
    // Every request of the call listens to it: their number is no sign of a leak.
    setMaxListeners(0, this.signal);
    this.deadline = Date.now() + options.timeoutSeconds * 1000;
    this.redaction.add(config.kubeconfig);
    // setTimeout fires at once beyond 2^31 ms.
    const wait = Math.min(options.timeoutSeconds * 1000, 2 ** 31 - 1);
    this.timer = setTimeout(() => this.end(`timed out after ${formatSeconds(options.timeoutSeconds)}`), wait);
  }

  status(line: string): void {
    const text = this.redaction.apply(line);
    if (text === this.lastStatus) return;
    this.lastStatus = text;
    this.engine.status(this.lastStatus, this.urn);
  }

  log(severity: Severity, line: string): void {
    this.engine.log(severity, this.redaction.apply(line), this.urn);
  }

  client(cluster: ClusterArgs | undefined): Promise<KubeClient> {
    this.redaction.add(cluster?.kubeconfig);
    return this.clients(cluster);
  }

  /** The context for hooks that get more than the usual. */
  extend<Extra extends object>(extra: Extra): CallContext & Extra {
    const { urn, name, config, signal, deadline } = this;
    return {
      urn,
      name,
      config,
      signal,
      deadline,
      status: (line) => this.status(line),
      log: (severity, line) => this.log(severity, line),
      client: (cluster) => this.client(cluster),
      ...extra,
    };
  }

  cancel(): void {
    this.end("cancelled");
  }

  /**
   * Runs a hook to its end, or to a moment after the call was cancelled or timed out. An error after that says so, with what was last
   * waited for.
   */
  async run<T>(hook: () => Promise<T>): Promise<T> {
    const work = Promise.resolve().then(hook);
    // Whatever it does after its time is of no interest.
    work.catch(() => undefined);
    try {
      return await Promise.race([work, this.overdue()]);
    } catch (error) {
      throw this.endedBy === undefined ? error : new Error(this.explain(error));
    } finally {
      clearTimeout(this.timer);
    }
  }

  finish(): void {
    clearTimeout(this.timer);
  }

  private end(reason: string): void {
    this.endedBy ??= reason;
    this.abort.abort(new Error(reason));
  }

  private overdue(): Promise<never> {
    return new Promise((_, reject) => {
      const late = () => setTimeout(() => reject(new OverdueError()), GRACE_MS);
      if (this.signal.aborted) late();
      else this.signal.addEventListener("abort", late, { once: true });
    });
  }

  private explain(error: unknown): string {
    const during = this.lastStatus === "" ? "" : ` during: ${this.lastStatus}`;
    const message = messageOf(error);
    const isEcho = error instanceof OverdueError || message === this.endedBy || /abort|cancel/i.test(message);
    return `${this.endedBy}${during}${isEcho ? "" : ` (${message})`}`;
  }
}

class OverdueError extends Error {}

function formatSeconds(seconds: number): string {
  return seconds >= 60 && seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** All calls in progress, so that Cancel reaches them. */
export class Calls {
  private readonly active = new Set<Call>();
  private readonly whenIdle: (() => void)[] = [];
  private cancelled = false;

  async track<T>(call: Call, work: () => Promise<T>): Promise<T> {
    this.active.add(call);
    if (this.cancelled) call.cancel();
    try {
      return await work();
    } finally {
      call.finish();
      this.active.delete(call);
      if (this.active.size === 0) for (const resolve of this.whenIdle.splice(0)) resolve();
    }
  }

  /** Resolves once no call is in progress. */
  idle(): Promise<void> {
    return this.active.size === 0 ? Promise.resolve() : new Promise((resolve) => this.whenIdle.push(resolve));
  }

  /** Ends every call in progress and every later one of this run. */
  cancelAll(): void {
    this.cancelled = true;
    for (const call of this.active) call.cancel();
  }

  /** Engines cancel at the end of each command, too; a plugin that one was attached to goes on with the next. */
  newRun(): void {
    this.cancelled = false;
  }
}
