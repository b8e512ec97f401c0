import { NamespaceMapResource, VirtualNodeResource, type NamespaceMap } from "../../api/index.js";
import { Controller, Informer, isDeleting, messageOf } from "../../runtime/index.js";
import type { NamespacePair, VirtualNodeContext } from "../context.js";
import { namespaceMappings, type NamespaceMapping } from "./namespace-mapping.js";

/** A loss of "Accepted" shorter than this changes nothing: pods must not be given up for a hiccup. */
const LOSS_GRACE_MS = 5_000;

/** What is done in one mapped namespace, for as long as it is mapped. */
export interface NamespaceActivity {
  stop(): Promise<void>;
  /** When it has stopped for good: takes off what it has left on the consumer's objects. */
  withdraw?(): Promise<void>;
}

/** Begins an activity in a mapped namespace; must not wait for the remote cluster. */
export type NamespaceActivityFactory = (pair: NamespacePair) => NamespaceActivity;

/** `lost`: not mapped, and long enough so. `unsettled`: not mapped, but that may change in a moment, or not known to be mapped. */
export type NamespaceStanding = "active" | "unsettled" | "lost";

/**
 * Starts and stops what is done per mapped namespace. Watches: NamespaceMaps of the tenant namespace. Writes nothing but events.
 * While the maps contradict each other, everything goes on as it is, and no namespace counts as lost. Remote access
 * is granted per namespace, so everything that watches the provider lives and dies with a mapping.
 */
export class NamespaceManager {
  readonly name = "namespaces";
  private readonly maps: Informer<NamespaceMap>;
  private readonly controller: Controller;
  private readonly factories: NamespaceActivityFactory[] = [];
  private readonly active = new Map<string, { pair: NamespacePair; activities: NamespaceActivity[] }>();
  private readonly lostSince = new Map<string, number>();
  private readonly listeners: ((localNamespace: string) => void)[] = [];
  private mappings = new Map<string, NamespaceMapping>();
  /** Since when the maps tell what is mapped; 0: they do not. */
  private knownSince = 0;

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly graceMs = LOSS_GRACE_MS,
  ) {
    const { local, config, logger } = context;
    this.maps = new Informer(local, NamespaceMapResource, { namespace: config.tenantNamespace, logger });
    this.controller = new Controller({
      name: this.name,
      workers: 1,
      logger,
      reconcile: (namespace) => this.reconcile(namespace),
    });
  }

  /** Runs an activity in every mapped namespace, also in those mapped already. */
  add(factory: NamespaceActivityFactory): void {
    this.factories.push(factory);
    for (const { pair, activities } of this.active.values()) activities.push(factory(pair));
  }

  /** Tells of namespaces whose standing has changed. */
  onChange(listener: (localNamespace: string) => void): void {
    this.listeners.push(listener);
  }

  async start(): Promise<void> {
    this.maps.start();
    await this.maps.waitForSync();
    this.maps.onEvent(() => this.refresh());
    this.refresh();
    this.controller.start();
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await this.maps.stop();
    const { virtualNode } = this.context.state;
    const isForGood = virtualNode !== undefined && isDeleting(virtualNode);
    await Promise.all([...this.active.keys()].map((namespace) => this.close(namespace, isForGood)));
  }

  pairOf(localNamespace: string): NamespacePair | undefined {
    return this.active.get(localNamespace)?.pair;
  }

  pairs(): NamespacePair[] {
    return [...this.active.values()].map(({ pair }) => pair);
  }

  standingOf(localNamespace: string): NamespaceStanding {
    if (this.active.has(localNamespace)) return "active";
    if (this.knownSince === 0) return "unsettled";
    const phase = this.mappings.get(localNamespace)?.phase;
    if (phase === "Accepted") return "unsettled";
    if (phase === "Terminating") return "lost";
    const since = this.lostSince.get(localNamespace) ?? this.knownSince;
    return Date.now() - since >= this.graceMs ? "lost" : "unsettled";
  }

  private refresh(): void {
    const before = this.mappings;
    try {
      this.mappings = namespaceMappings(this.maps.list(), this.context.config.foreignClusterId).mappings;
    } catch (error) {
      return this.refuse(messageOf(error));
    }
    if (this.knownSince === 0) this.knownSince = Date.now();
    for (const namespace of new Set([...before.keys(), ...this.mappings.keys(), ...this.active.keys()])) {
      this.controller.enqueue(namespace);
    }
  }

  /** After a restart nothing is known from before: pods of every namespace would be given up for a map too many. */
  private refuse(reason: string): void {
    const { state, recorder, logger } = this.context;
    this.knownSince = 0;
    this.lostSince.clear();
    logger.error({ reason }, "namespace mappings left as they were");
    const { virtualNode } = state;
    if (virtualNode) recorder.warning(VirtualNodeResource, virtualNode, "NamespaceMapsContradict", reason);
  }

  private async reconcile(namespace: string): Promise<{ requeueAfterMs?: number }> {
    const mapping = this.mappings.get(namespace);
    const present = this.active.get(namespace)?.pair;
    if (mapping?.phase === "Accepted") {
      this.lostSince.delete(namespace);
      if (present && present.remote !== mapping.remote) await this.close(namespace);
      if (present?.remote !== mapping.remote) this.open({ local: namespace, remote: mapping.remote });
      return {};
    }
    if (!present || this.knownSince === 0) return {};
    const since = this.lostSince.get(namespace) ?? Date.now();
    this.lostSince.set(namespace, since);
    const left = mapping?.phase === "Terminating" ? 0 : since + this.graceMs - Date.now();
    if (left > 0) return { requeueAfterMs: left };
    await this.close(namespace, true);
    return {};
  }

  private open(pair: NamespacePair): void {
    this.active.set(pair.local, { pair, activities: this.factories.map((factory) => factory(pair)) });
    this.context.logger.info({ namespace: pair.local, remote: pair.remote }, "namespace offloaded");
    this.tell(pair.local);
  }

  private async close(namespace: string, isForGood = false): Promise<void> {
    const entry = this.active.get(namespace);
    if (!entry) return;
    this.active.delete(namespace);
    await Promise.all(entry.activities.map((activity) => activity.stop()));
    if (isForGood) await this.withdraw(entry.activities, namespace);
    this.context.logger.info({ namespace }, "namespace not offloaded any more");
    this.tell(namespace);
  }

  /** What cannot be taken off just now stays: nobody is kept by it from leaving. */
  private async withdraw(activities: readonly NamespaceActivity[], namespace: string): Promise<void> {
    try {
      await Promise.all(activities.map(async (activity) => activity.withdraw?.()));
    } catch (error) {
      const message = "what the provider had published stays on Services and Ingresses";
      this.context.logger.warn({ namespace, reason: messageOf(error) }, message);
    }
  }

  private tell(namespace: string): void {
    for (const listener of this.listeners) listener(namespace);
  }
}
