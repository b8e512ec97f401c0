import { createHash, randomUUID } from "node:crypto";
import { Labels } from "../../api/index.js";
import {
  Controller,
  Informer,
  KubeError,
  TerminalError,
  isDeleting,
  isInvalid,
  isRefused,
  keyOf,
  messageOf,
  splitKey,
  type DeepPartial,
  type KubeObject,
  type ReconcileResult,
} from "../../runtime/index.js";
import { REFLECTION_FIELD_MANAGER, type VirtualNodeContext } from "../context.js";
import type { NamespaceActivity } from "../namespaces/namespace-manager.js";
import { metadataOnly } from "./local-namespace.js";
import type { ReflectedKind, ReflectionScope, Verdict } from "./reflected-kind.js";
import { isReflected, reflectedMetadata, reflectionSelector, type Reflection } from "./reflected-metadata.js";

/** How often a copy is looked at that stays although its original has gone (milliseconds). */
const KEPT_LOOK_MS = 60_000;

interface Entry<L extends KubeObject, R extends KubeObject> {
  scope: ReflectionScope;
  local: Informer<L>[];
  remote: Informer<R>;
}

/**
 * Keeps the provider's copies of one kind equal to the consumer's objects, in every offloaded namespace. Watches: the
 * consumer's objects, and of the provider's those that carry our labels. Owns: the latter. An object of the provider
 * without our labels is never touched.
 */
export class Reflector<L extends KubeObject, R extends KubeObject> {
  readonly name: string;
  private readonly controller: Controller;
  private readonly entries = new Map<string, Entry<L, R>>();
  /** What was applied last, and the version it gave: equal ones need no write. */
  private readonly applied = new Map<string, string>();
  private readonly reflection: Reflection;

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly kind: ReflectedKind<L, R>,
    workers: number,
    /** Takes each failure to list or watch the provider's objects; another try follows by itself. */
    private readonly onFailure?: (error: unknown) => void,
  ) {
    this.name = `reflect-${kind.name}`;
    const { config, logger } = context;
    this.reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
    const reconcile = async (key: string): Promise<ReconcileResult | void> => {
      const { namespace = "", name } = splitKey(key);
      if (kind.concerns?.(name) === false) return;
      return context.counters.count(namespace, kind.local.kind, () => this.reconcile(key));
    };
    this.controller = new Controller({ name: this.name, workers, logger, reconcile });
  }

  start(): void {
    this.controller.start();
  }

  stop(): Promise<void> {
    return this.controller.stop();
  }

  /** Reflects a namespace until stopped. The local informers, each of other objects, are started by the caller. */
  open(scope: ReflectionScope, local: Informer<L>[]): NamespaceActivity {
    const { remote: client, logger } = this.context;
    const { pair } = scope;
    const remote = new Informer(client, this.kind.remote, {
      namespace: pair.remote,
      labelSelector: reflectionSelector(this.reflection),
      ...(this.kind.keepsWhole ? {} : { trim: metadataOnly }),
      onError: this.onFailure,
      logger,
    });
    this.entries.set(pair.local, { scope, local, remote });
    const localKey = ({ metadata }: R): string[] => {
      const name = metadata?.name ?? "";
      return [`${pair.local}/${this.kind.localName?.(name, scope) ?? name}`];
    };
    for (const informer of local) this.controller.watch(informer);
    this.controller.watch(remote, localKey);
    // What is at the provider only is looked at too: its original may have gone while nobody watched.
    const enqueueAll = (): void => {
      this.enqueueAll(pair.local);
      for (const key of remote.list().flatMap(localKey)) this.enqueue(key);
    };
    for (const informer of [...local, remote]) informer.onSync(enqueueAll);
    remote.start();
    return {
      stop: async () => {
        this.entries.delete(pair.local);
        for (const key of this.applied.keys()) if (key.startsWith(`${pair.local}/`)) this.applied.delete(key);
        await remote.stop();
      },
    };
  }

  /** Looks again at everything in a namespace, or everywhere: something that objects depend on has changed. */
  enqueueAll(namespace?: string): void {
    for (const [name, { local }] of this.entries) {
      if (namespace === undefined || namespace === name)
        for (const object of listOf(local)) this.enqueue(keyOf(object));
    }
  }

  enqueue(key: string): void {
    this.controller.enqueue(key);
  }

  private async reconcile(key: string): Promise<ReconcileResult | void> {
    const { namespace = "", name } = splitKey(key);
    const entry = this.entries.get(namespace);
    if (!entry?.local.every(({ hasSynced }) => hasSynced) || !entry.remote.hasSynced) return;
    const object = entry.local.map((informer) => informer.find(namespace, name)).find((found) => found !== undefined);
    const remoteName = this.kind.remoteName?.(name, entry.scope) ?? name;
    const present = entry.remote.find(entry.scope.pair.remote, remoteName);
    const verdict = object ? await this.accepts(object, entry.scope, present) : false;
    if (object && verdict === true) return this.reflect(key, object, remoteName, present, entry);
    if (verdict === "leave") return;
    this.applied.delete(key);
    if (!present || isDeleting(present)) return;
    if (await this.kind.keeps?.(present, entry.scope, object)) return { requeueAfterMs: KEPT_LOOK_MS };
    const left = object ?? (await this.unselected({ name, namespace }));
    if (left) this.context.recorder.normal(this.kind.local, left, "ReflectionDisabled", "not reflected any more");
    await this.remove(present);
    if (left) await this.kind.withdrawn?.(left, entry.scope);
  }

  /** The object as it is, where the kind's selector may be why it is not among those that are watched. */
  private async unselected(id: { name: string; namespace: string }): Promise<L | undefined> {
    if (!this.context.config.reflection[this.kind.name]?.selector) return undefined;
    return this.context.local.get(this.kind.local, id);
  }

  private async accepts(object: L, scope: ReflectionScope, present: R | undefined): Promise<Verdict> {
    try {
      return await this.kind.accepts(object, scope, present);
    } catch (error) {
      // An API server's answer may be another one the next time.
      if (error instanceof KubeError) throw error;
      this.context.recorder.warning(this.kind.local, object, "FailedReflection", messageOf(error));
      throw new TerminalError(messageOf(error));
    }
  }

  private async reflect(
    key: string,
    object: L,
    remoteName: string,
    present: R | undefined,
    entry: Entry<L, R>,
  ): Promise<void> {
    // Its end brings the next pass.
    if (present && this.kind.mustReplace?.(object, present)) return this.remove(present);
    const copy = await this.write(key, object, remoteName, present, entry);
    if (copy) await this.kind.reflected?.(object, copy, entry.scope);
  }

  /** The copy as it now is; undefined if its original has gone meanwhile. */
  private async write(
    key: string,
    object: L,
    remoteName: string,
    present: R | undefined,
    { scope, remote }: Entry<L, R>,
  ): Promise<R | undefined> {
    const id = { name: remoteName, namespace: scope.pair.remote };
    const desired = {
      metadata: { ...id, ...this.metadataOf(object, scope) },
      ...this.kind.forge(object, scope, present),
    };
    const remark = this.kind.remark?.(object, scope);
    const version = this.kind.fetch ? object.metadata?.resourceVersion : "";
    const fingerprint = fingerprintOf(version, desired, remark?.message);
    if (present && this.applied.get(key) === `${fingerprint}@${present.metadata?.resourceVersion}`) return present;
    if (!present) await this.refuseForeign(object, id);
    const complete = this.kind.fetch ? await this.complete(object, desired, scope) : desired;
    if (!complete) return undefined;
    const result = await this.apply(object, complete as DeepPartial<R>, present);
    this.applied.set(key, `${fingerprint}@${result.metadata?.resourceVersion}`);
    remote.observe(result);
    if (remark) this.context.recorder.warning(remark.type, remark.object, remark.reason, remark.message);
    return result;
  }

  private metadataOf(
    object: L,
    scope: ReflectionScope,
  ): { labels: Record<string, string>; annotations: Record<string, string> } {
    const metadata = reflectedMetadata(object.metadata, this.reflection, this.context.state.offloadingPatch);
    this.kind.metadata?.(metadata, object, scope);
    // Marks what belongs to one virtual node. Here it would be another cluster's, which offloads to this one.
    delete metadata.labels[Labels.offloadingNodeName];
    return metadata;
  }

  /** The object with the data that the cache does not keep; undefined if it has gone meanwhile. */
  private async complete(object: L, desired: object, scope: ReflectionScope): Promise<object | undefined> {
    const { name = "", namespace } = object.metadata ?? {};
    const whole = await this.context.local.get(this.kind.local, { name, namespace });
    return whole && { ...desired, ...this.kind.forge(whole, scope) };
  }

  private async apply(object: L, desired: DeepPartial<R>, present: R | undefined): Promise<R> {
    const { remote, recorder } = this.context;
    try {
      return await remote.apply(this.kind.remote, desired, { fieldManager: REFLECTION_FIELD_MANAGER });
    } catch (error) {
      if (present && this.kind.replaceable && isImmutable(error) && (await this.isAdmittedAnew(desired))) {
        await this.remove(present);
        throw new Error(`${messageOf(error)}: made anew`, { cause: error });
      }
      recorder.warning(this.kind.local, object, "FailedReflection", messageOf(error));
      throw error;
    }
  }

  /** Whether the provider would take the copy as a new object, asked by another name: one that works is not given up for one that is refused. */
  private async isAdmittedAnew(desired: DeepPartial<R>): Promise<boolean> {
    const { namespace, labels, annotations } = (desired as KubeObject).metadata ?? {};
    const metadata = { name: `probe-${randomUUID()}`, namespace, labels, annotations };
    try {
      await this.context.remote.create(this.kind.remote, { ...desired, metadata } as R, { dryRun: true });
      return true;
    } catch (error) {
      // The former one counts until it has gone.
      if (isRefused(error)) return messageOf(error).includes("exceeded quota");
      throw error;
    }
  }

  private async refuseForeign(object: L, id: { name: string; namespace: string }): Promise<void> {
    const { remote, config, recorder } = this.context;
    const found = await remote.get(this.kind.remote, id);
    const isOurs = isReflected(found?.metadata, this.reflection);
    // The tokens of a pod have our labels, too, and its virtual node's.
    if (!found || (isOurs && !found.metadata?.labels?.[Labels.offloadingNodeName])) return;
    const message = `${this.kind.remote.kind} ${id.namespace}/${id.name} already exists in cluster ${config.foreignClusterId} and was not reflected from here`;
    recorder.warning(this.kind.local, object, "FailedReflection", message);
    // Nothing here watches it: it is looked for again now and then.
    throw new Error(message);
  }

  private async remove(present: R): Promise<void> {
    const { name = "", namespace, uid } = present.metadata ?? {};
    await this.context.remote.delete(this.kind.remote, { name, namespace }, { uid });
  }
}

function listOf<T extends KubeObject>(informers: Informer<T>[]): T[] {
  return informers.flatMap((informer) => informer.list());
}

/** Whether the API server says that a field can have no other value. Policies refuse with the same code, and what they refuse is no better when made anew. */
function isImmutable(error: unknown): boolean {
  return isInvalid(error) && messageOf(error).includes("field is immutable");
}

function fingerprintOf(...parts: unknown[]): string {
  return createHash("sha1").update(JSON.stringify(parts)).digest("base64");
}
