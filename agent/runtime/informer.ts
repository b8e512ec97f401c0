import type { Status } from "kubernetes-types/meta/v1";
import { Backoff, delay } from "./backoff.js";
import type { KubeClient, KubeList } from "./kube-client.js";
import { KubeError, isGone, messageOf } from "./kube-error.js";
import type { Logger } from "./logger.js";
import { keyOf, type KubeObject, type ResourceType } from "./resource-type.js";

export type InformerEvent<T> =
  { type: "added"; object: T } | { type: "updated"; object: T; old: T } | { type: "deleted"; object: T };

export interface InformerOptions<T> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Drops what the role does not need before the object is kept; managedFields always go. */
  trim?: (object: T) => T;
  logger?: Logger;
  /** Called when listing or watching fails, with the failure; a retry follows by itself. */
  onError?: (error: unknown) => void;
  /** Called when everything is known: after the first list, and after each that follows a failure. */
  onListed?: () => void;
}

/** So many objects are taken from a list at a time: the text of all of them at once would stay the largest thing that the process ever held. */
const PAGE_SIZE = 500;

/** What a process knows is as old as its last look: after a long outage it must not wait long for the next. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [200, 10_000] as const;

/** A watch that has lasted for so long has not been refused, though there was nothing to tell. */
const STANDING_MS = 10_000;

/** Far more removals than can happen while one answer is on its way. */
const REMEMBERED_REMOVALS = 500;

/**
 * Keeps a copy of one kind's objects by list and watch, and tells listeners of every change. It relists after
 * a broken watch, with back-off, and never gives up until stopped.
 */
export class Informer<T extends KubeObject> {
  private readonly objects = new Map<string, T>();
  private readonly indexes = new Map<string, { of: (object: T) => string[]; keys: Map<string, Set<string>> }>();
  private readonly listeners: ((event: InformerEvent<T>) => void)[] = [];
  private readonly syncWaiters: (() => void)[] = [];
  /** The last objects that ended. */
  private readonly removedUids = new Set<string>();
  private synced = false;
  private abort?: AbortController;
  /** Ends the watch that stands. */
  private look?: AbortController;
  private running?: Promise<void>;

  constructor(
    private readonly client: KubeClient,
    readonly type: ResourceType<T>,
    private readonly options: InformerOptions<T> = {},
  ) {}

  /** Adds a lookup by computed keys; must be called before start. */
  addIndex(name: string, of: (object: T) => string[]): this {
    this.indexes.set(name, { of, keys: new Map() });
    return this;
  }

  /** Listeners that come late are told of all present objects as added. */
  onEvent(listener: (event: InformerEvent<T>) => void): this {
    this.listeners.push(listener);
    for (const object of this.objects.values()) listener({ type: "added", object });
    return this;
  }

  start(): this {
    if (this.running) return this;
    this.abort = new AbortController();
    this.running = this.run(this.abort.signal);
    return this;
  }

  async stop(): Promise<void> {
    this.abort?.abort();
    await this.running;
    this.running = undefined;
  }

  /** Lists anew at once where a watch stands: it goes on although the right to it was withdrawn, so that nothing would tell when that returns. */
  lookAgain(): void {
    this.look?.abort();
  }

  /**
   * Lists once more beside the watch, which may be dead without anybody having told, and tells listeners of what differs: for those who end, and act on what they
   * know for the last time. `client`: with connections of its own.
   */
  async refresh(client: KubeClient, signal: AbortSignal): Promise<void> {
    await this.relist(signal, client);
  }

  get hasSynced(): boolean {
    return this.synced;
  }

  /** Calls back once, when the first list is in; at once if it is. */
  onSync(listener: () => void): this {
    if (this.synced) listener();
    else this.syncWaiters.push(listener);
    return this;
  }

  /** Resolves once the first list is in. Rejects after the deadline (milliseconds) with what was waited for. */
  async waitForSync(timeoutMs = 60_000): Promise<void> {
    if (this.synced) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(`cluster ${this.client.cluster}: no list of ${this.type.plural} within ${timeoutMs / 1000} s`),
          ),
        timeoutMs,
      );
      this.syncWaiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  get(key: string): T | undefined {
    return this.objects.get(key);
  }

  find(namespace: string, name: string): T | undefined {
    return this.objects.get(`${namespace}/${name}`);
  }

  list(): T[] {
    return [...this.objects.values()];
  }

  inNamespace(namespace: string): T[] {
    return this.list().filter((object) => object.metadata?.namespace === namespace);
  }

  byIndex(name: string, value: string): T[] {
    const index = this.indexes.get(name);
    if (!index) throw new Error(`informer of ${this.type.plural}: no index ${name}`);
    return [...(index.keys.get(value) ?? [])].flatMap((key) => this.objects.get(key) ?? []);
  }

  /** Takes an object that a write has just returned, so that the next reconcile does not act on an older copy. */
  observe(object: T): void {
    const present = this.objects.get(keyOf(object));
    if (present && versionOf(present) >= versionOf(object)) return;
    // The watch may tell of the object's end before the answer to the write is read: it must not come back to life.
    if (this.removedUids.has(object.metadata?.uid ?? "")) return;
    this.store(this.trimmed(object));
  }

  /**
   * Keeps less of an object from now on, as what was to be done with the rest has been done; nobody is told. Does nothing when it has changed meanwhile, and
   * what comes of it later is whole again. What indexes look at must stay.
   */
  shrink(object: T, trim: (object: T) => T): void {
    const key = keyOf(object);
    if (this.objects.get(key) === object) this.objects.set(key, trim(object));
  }

  private async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(FIRST_RETRY_MS, LAST_RETRY_MS);
    let isNews = true;
    while (!signal.aborted) {
      const watch = { hasStood: false };
      try {
        const resourceVersion = await this.relist(signal);
        if (isNews) this.options.onListed?.();
        isNews = false;
        // A server that lists may still refuse to tell of changes, as it does while it starts.
        await this.followUntilAsked(resourceVersion, signal, () => {
          watch.hasStood = true;
          backoff.reset();
        });
      } catch (error) {
        if (signal.aborted) return;
        if (!isGone(error)) {
          isNews = true;
          this.tellFailure(error);
        }
        // A server forgets in time where a watch stood; one that does not know the list it has just given is as good as one that refuses.
        else if (watch.hasStood) continue;
        await delay(backoff.next(), signal);
      }
    }
  }

  /** Returns when the list is to be made anew. */
  private async followUntilAsked(from: string, signal: AbortSignal, onStanding: () => void): Promise<void> {
    const look = new AbortController();
    const stop = (): void => look.abort();
    signal.addEventListener("abort", stop, { once: true });
    this.look = look;
    try {
      if (!signal.aborted) await this.follow(from, look.signal, onStanding);
    } catch (error) {
      if (signal.aborted || !look.signal.aborted) throw error;
    } finally {
      this.look = undefined;
      signal.removeEventListener("abort", stop);
    }
  }

  private tellFailure(error: unknown): void {
    this.options.onError?.(error);
    this.options.logger?.warn({ resource: this.type.plural, reason: messageOf(error) }, "watch failed, will retry");
  }

  private async relist(signal: AbortSignal, client = this.client): Promise<string> {
    const { items, metadata } = await this.fetchAll(signal, client);
    const present = new Set(items.map(keyOf));
    for (const object of items) this.store(object);
    // What a write of ours has returned since the list was made is not in it, and the watch is yet to tell of it.
    const isOlder = (object: T): boolean => versionOf(object) <= versionOf({ metadata });
    for (const [key, object] of [...this.objects]) if (!present.has(key) && isOlder(object)) this.remove(key);
    this.synced = true;
    for (const resolve of this.syncWaiters.splice(0)) resolve();
    return metadata.resourceVersion ?? "0";
  }

  /** All objects as of one moment, each already without what is not kept. */
  private async fetchAll(signal: AbortSignal, client: KubeClient): Promise<KubeList<T>> {
    try {
      return await this.fetchPages(PAGE_SIZE, signal, client);
    } catch (error) {
      if (!isGone(error)) throw error;
      // Between two pages the server has forgotten the first one's moment.
      return this.fetchPages(0, signal, client);
    }
  }

  private async fetchPages(pageSize: number, signal: AbortSignal, client: KubeClient): Promise<KubeList<T>> {
    const { namespace, labelSelector, fieldSelector } = this.options;
    const all: KubeList<T> = { metadata: {}, items: [] };
    const pages = client.pages(this.type, pageSize, { namespace, labelSelector, fieldSelector, signal });
    for await (const { metadata, items } of pages) {
      all.metadata = metadata;
      for (const object of items) all.items.push(this.trimmed(object));
    }
    return all;
  }

  /** Follows changes until an error; a watch that merely ends is resumed where it stood. Tells when one has delivered something, or has lasted. */
  private async follow(from: string, signal: AbortSignal, onStanding: () => void): Promise<void> {
    let resourceVersion = from;
    const { namespace, labelSelector, fieldSelector } = this.options;
    while (!signal.aborted) {
      // Spread over 5 to 10 minutes so that not all watches end together.
      const timeoutSeconds = 300 + Math.floor(Math.random() * 300);
      const started = Date.now();
      let openedAt = Infinity;
      const events = this.client.watch(this.type, {
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion,
        timeoutSeconds,
        signal,
        onOpen: () => (openedAt = performance.now()),
      });
      try {
        for await (const event of events) {
          if (event.type === "ERROR") throw this.failureOf(event.object);
          onStanding();
          resourceVersion = event.object.metadata?.resourceVersion ?? resourceVersion;
          if (event.type === "BOOKMARK") continue;
          if (event.type === "DELETED") this.remove(keyOf(event.object), event.object);
          else this.store(this.trimmed(event.object));
        }
      } finally {
        if (performance.now() - openedAt >= STANDING_MS) onStanding();
      }
      if (Date.now() - started < 1_000) await delay(1_000, signal);
    }
  }

  private failureOf(status: Status): KubeError {
    const { message = "watch error", code = 500, reason = "Unknown" } = status;
    return new KubeError(message, code, reason, this.client.cluster, status);
  }

  private trimmed(received: T): T {
    if (received.metadata) delete received.metadata.managedFields;
    return this.options.trim ? this.options.trim(received) : received;
  }

  private store(object: T): void {
    const key = keyOf(object);
    const old = this.objects.get(key);
    if (old && old.metadata?.uid === object.metadata?.uid && versionOf(old) >= versionOf(object)) return;
    if (old) this.unindex(key, old);
    this.objects.set(key, object);
    this.index(key, object);
    this.emit(old ? { type: "updated", object, old } : { type: "added", object });
  }

  private remove(key: string, last?: T): void {
    const old = this.objects.get(key);
    if (!old) return;
    // A deletion that is told late must not remove the object's successor of the same name.
    if (last && old.metadata?.uid !== last.metadata?.uid) return;
    this.unindex(key, old);
    this.objects.delete(key);
    this.rememberRemoved(old.metadata?.uid);
    this.emit({ type: "deleted", object: old });
  }

  private rememberRemoved(uid: string | undefined): void {
    if (uid) this.removedUids.add(uid);
    if (this.removedUids.size <= REMEMBERED_REMOVALS) return;
    const [oldest] = this.removedUids;
    if (oldest) this.removedUids.delete(oldest);
  }

  private emit(event: InformerEvent<T>): void {
    for (const listener of this.listeners) {
      try {
        listener(event);
      } catch (error) {
        this.options.logger?.error({ resource: this.type.plural, reason: messageOf(error) }, "event listener failed");
      }
    }
  }

  private index(key: string, object: T): void {
    for (const { of, keys } of this.indexes.values()) {
      for (const value of of(object)) {
        const set = keys.get(value) ?? new Set();
        set.add(key);
        keys.set(value, set);
      }
    }
  }

  private unindex(key: string, object: T): void {
    for (const { of, keys } of this.indexes.values()) {
      for (const value of of(object)) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
    }
  }
}

/** Resource versions of one kind grow (Kubernetes compares them as numbers since 1.35); text that is no number counts as always new. */
function versionOf(object: { metadata?: { resourceVersion?: string } }): number {
  const version = Number(object.metadata?.resourceVersion);
  return Number.isFinite(version) ? version : Number.MAX_SAFE_INTEGER;
}
