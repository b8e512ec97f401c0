import type { Event } from "kubernetes-types/core/v1";
import {
  Controller,
  EventResource,
  Informer,
  isAlreadyExists,
  messageOf,
  splitKey,
  type KubeObject,
  type ReconcileResult,
} from "../../runtime/index.js";
import { REFLECTION_FIELD_MANAGER, type NamespacePair, type VirtualNodeContext } from "../context.js";
import type { NamespaceActivity } from "../namespaces/namespace-manager.js";
import { localEvent, localKindOf, wordsOf } from "./event.js";
import { metadataOnly } from "./local-namespace.js";
import { isReflected, reflectionSelector, type Reflection } from "./reflected-metadata.js";

/** Finds the consumer's object, of that kind, that an event of the provider is about; undefined if that is not ours to tell of, "unknown" while that cannot be said. */
export type LocalObjectLookup = (pair: NamespacePair, kind: string, event: Event) => KubeObject | "unknown" | undefined;

export interface EventReflectorOptions {
  workers: number;
  /** Whether the process has more pressing things to do: events are for reading. */
  isBusy: () => boolean;
  /** How long an event may wait for quieter times in milliseconds, one that warns of something and any other. Default 10 and 30 seconds. */
  patienceMs?: { warning: number; normal: number };
  /** How often it is asked again for an object of which nothing can be said yet, in milliseconds. Default 5 seconds. */
  unknownLookMs?: number;
}

const PATIENCE_MS = { warning: 10_000, normal: 30_000 };
/** How often one that waits asks whether it may go. */
const LOOK_MS = 500;
/** The caches of other objects than pods come with the lease, which another process may hold for long. */
const UNKNOWN_LOOK_MS = 5_000;

interface Entry {
  pair: NamespacePair;
  events: Informer<Event>;
  /** What copies of an earlier run of this process say, by their names; asked for when one of them is to be told again. */
  toldBefore?: Promise<Map<string, string>>;
}

/** So many copies are taken from a list at a time. */
const PAGE_SIZE = 500;

/**
 * Brings back the provider's events about what we have there. Watches: the provider's events per offloaded namespace. Owns: their copies. Of an event that has
 * been told only its name is kept: a provider has several per pod, for an hour each.
 */
export class EventReflector {
  readonly name = "reflect-event";
  private readonly controller: Controller;
  private readonly entries = new Map<string, Entry>();
  private readonly reflection: Reflection;
  private readonly startedAt = Date.now();

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly lookup: LocalObjectLookup,
    private readonly options: EventReflectorOptions,
  ) {
    const { config, logger } = context;
    this.reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
    const { workers } = options;
    this.controller = new Controller({ name: this.name, workers, logger, reconcile: (key) => this.reconcile(key) });
  }

  start(): void {
    this.controller.start();
  }

  stop(): Promise<void> {
    return this.controller.stop();
  }

  open(pair: NamespacePair): NamespaceActivity {
    const { remote, logger } = this.context;
    const events = new Informer(remote, EventResource, { namespace: pair.remote, logger });
    this.entries.set(pair.local, { pair, events });
    this.controller.watch(events, ({ metadata }) => [`${pair.local}/${metadata.name}`]);
    events.start();
    return {
      stop: async () => {
        this.entries.delete(pair.local);
        await events.stop();
      },
    };
  }

  private async reconcile(key: string): Promise<ReconcileResult | void> {
    const { namespace = "", name } = splitKey(key);
    const entry = this.entries.get(namespace);
    if (!entry) return;
    const event = entry.events.find(entry.pair.remote, name);
    if (!event) return this.removeCopy(namespace, name);
    if (isTold(event)) return;
    const { patienceMs = PATIENCE_MS, isBusy } = this.options;
    const patience = event.type === "Warning" ? patienceMs.warning : patienceMs.normal;
    if (isBusy() && this.age(event) < patience) return { requeueAfterMs: LOOK_MS };
    const kind = localKindOf(event.involvedObject);
    const object = kind && this.lookup(entry.pair, kind, event);
    if (object === "unknown") return { requeueAfterMs: this.options.unknownLookMs ?? UNKNOWN_LOOK_MS };
    if (kind && object) await this.tell(event, kind, object, entry);
    entry.events.shrink(event, metadataOnly);
  }

  private async tell(event: Event, kind: string, object: KubeObject, entry: Entry): Promise<void> {
    const copy = localEvent(event, kind, object, this.reflection);
    const options = { fieldManager: REFLECTION_FIELD_MANAGER };
    // Most events are told once: making one is much less work for the API server than comparing it.
    if (this.isNew(event) && (await this.create(copy))) return;
    if (await this.wasTold(copy, entry)) return;
    await this.context.local.apply(EventResource, copy, options);
  }

  /** Whether an earlier run has told the same. A start finds thousands that it has: of those it asks in one list, not each by itself. */
  private async wasTold(copy: Event, entry: Entry): Promise<boolean> {
    const toldBefore = await (entry.toldBefore ??= this.copiesIn(entry.pair.local));
    const name = copy.metadata.name ?? "";
    const words = toldBefore.get(name);
    toldBefore.delete(name);
    return words === wordsOf(copy);
  }

  private async copiesIn(namespace: string): Promise<Map<string, string>> {
    const { local, logger } = this.context;
    const copies = new Map<string, string>();
    const labelSelector = reflectionSelector(this.reflection);
    try {
      for await (const { items } of local.pages(EventResource, PAGE_SIZE, { namespace, labelSelector }))
        for (const event of items) copies.set(event.metadata.name ?? "", wordsOf(event));
    } catch (error) {
      logger.warn({ namespace, reason: messageOf(error) }, "events are told again, as those told before are not known");
    }
    return copies;
  }

  /** Milliseconds since it was made, or since this process began. */
  private age({ metadata }: Event): number {
    return Date.now() - Math.max(this.startedAt, Date.parse(metadata.creationTimestamp ?? ""));
  }

  /** Told once, and not by an earlier run of this process. */
  private isNew({ count, series, metadata }: Event): boolean {
    const isSingle = (count ?? 1) <= 1 && !series;
    return isSingle && Date.parse(metadata.creationTimestamp ?? "") > this.startedAt;
  }

  /** False when there is an event of that name, of which it is not known whether it says the same. */
  private async create(copy: Event): Promise<boolean> {
    try {
      await this.context.local.create(EventResource, copy, { fieldManager: REFLECTION_FIELD_MANAGER });
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return false;
    }
  }

  private async removeCopy(namespace: string, name: string): Promise<void> {
    const { local } = this.context;
    const copy = await local.get(EventResource, { name, namespace });
    if (!copy || !isReflected(copy.metadata, this.reflection)) return;
    await local.delete(EventResource, { name, namespace }, { uid: copy.metadata.uid });
  }
}

/** Whether nothing but its metadata is left of an event here. */
function isTold(event: Event): boolean {
  return !("involvedObject" in event);
}
