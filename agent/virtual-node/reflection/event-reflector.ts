import type { Event } from "kubernetes-types/core/v1";
import { Controller, EventResource, Informer, splitKey, type KubeObject } from "../../runtime/index.js";
import { REFLECTION_FIELD_MANAGER, type NamespacePair, type VirtualNodeContext } from "../context.js";
import type { NamespaceActivity } from "../namespaces/namespace-manager.js";
import { localEvent, localKindOf } from "./event.js";
import { isReflected, type Reflection } from "./reflected-metadata.js";

/** Finds the consumer's object that is known at the provider by a kind and name; undefined if that is not ours to tell of. */
export type LocalObjectLookup = (pair: NamespacePair, kind: string, remoteName: string) => KubeObject | undefined;

interface Entry {
  pair: NamespacePair;
  events: Informer<Event>;
}

/** Brings back the provider's events about what we have there. Watches: the provider's events per offloaded namespace. Owns: their copies. */
export class EventReflector {
  readonly name = "reflect-event";
  private readonly controller: Controller;
  private readonly entries = new Map<string, Entry>();
  private readonly reflection: Reflection;

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly lookup: LocalObjectLookup,
    workers: number,
  ) {
    const { config, logger } = context;
    this.reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
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

  private async reconcile(key: string): Promise<void> {
    const { namespace = "", name } = splitKey(key);
    const entry = this.entries.get(namespace);
    if (!entry) return;
    const event = entry.events.find(entry.pair.remote, name);
    if (!event) return this.removeCopy(namespace, name);
    const kind = localKindOf(event.involvedObject);
    const object = kind && this.lookup(entry.pair, kind, event.involvedObject.name ?? "");
    if (!kind || !object) return;
    const copy = localEvent(event, kind, object, this.reflection);
    await this.context.local.apply(EventResource, copy, { fieldManager: REFLECTION_FIELD_MANAGER });
  }

  private async removeCopy(namespace: string, name: string): Promise<void> {
    const { local } = this.context;
    const copy = await local.get(EventResource, { name, namespace });
    if (!copy || !isReflected(copy.metadata, this.reflection)) return;
    await local.delete(EventResource, { name, namespace }, { uid: copy.metadata.uid });
  }
}
