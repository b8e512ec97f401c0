import { once } from "node:events";
import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { KubeTransport } from "../../agent/runtime/kube-transport.js";

interface Answer<T> {
  at: number;
  promise: Promise<T>;
}

/**
 * What many resources of one program ask the same cluster at the same time: it is asked once for all who wait, and an answer that is worth keeping
 * counts for a moment longer. Failures and other answers count for those alone who waited for them.
 */
export class RecentAnswers<T> {
  private readonly answers = new WeakMap<KubeTransport, Answer<T>>();

  /**
   * @param validMs how long an answer counts, in milliseconds from when it was asked for
   * @param ask asks the cluster; for all who wait, so that none of their signals ends it, but the client's own time-out
   * @param isKept whether an answer is worth keeping
   */
  constructor(
    private readonly validMs: number,
    private readonly ask: (client: KubeClient) => Promise<T>,
    private readonly isKept: (answer: T) => boolean,
  ) {}

  /** The answer, as soon as it is there. Rejects with what the cluster said, or as soon as the signal aborts. */
  get(client: KubeClient, signal: AbortSignal): Promise<T> {
    return orAborted(this.current(client), signal);
  }

  /** What was answered holds no more: the next to ask asks the cluster. */
  forget(client: KubeClient): void {
    this.answers.delete(client.transport);
  }

  private current(client: KubeClient): Promise<T> {
    const present = this.answers.get(client.transport);
    if (present && Date.now() - present.at < this.validMs) return present.promise;
    const answer: Answer<T> = { at: Date.now(), promise: this.ask(client) };
    const drop = (): void => {
      if (this.answers.get(client.transport) === answer) this.forget(client);
    };
    this.answers.set(client.transport, answer);
    answer.promise.then((value) => this.isKept(value) || drop(), drop);
    return answer.promise;
  }
}

/** The others go on waiting when one of them gives up. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const answered = new AbortController();
  const givenUp = once(signal, "abort", { signal: answered.signal }).then(() => Promise.reject(signal.reason as Error));
  try {
    return await Promise.race([promise, givenUp]);
  } finally {
    answered.abort();
  }
}
