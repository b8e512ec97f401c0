import type { Event, Pod } from "kubernetes-types/core/v1";
import {
  Annotations,
  askedGracePeriod,
  Labels,
  PodReasons,
  ShadowPodResource,
  type ShadowPod,
} from "../../api/index.js";
import {
  Controller,
  Informer,
  PodResource,
  TerminalError,
  isAlreadyExists,
  isConflict,
  isDeleting,
  isNotFound,
  isRefused,
  messageOf,
  splitKey,
  type KubeObject,
  type ReconcileResult,
} from "../../runtime/index.js";
import { FIELD_MANAGER, REFLECTION_FIELD_MANAGER, type NamespacePair, type VirtualNodeContext } from "../context.js";
import type { NamespaceActivity, NamespaceManager } from "../namespaces/namespace-manager.js";
import { isReflected } from "../reflection/reflected-metadata.js";
import { wantsApiServer } from "../service-accounts/api-access.js";
import { TokenSecrets } from "../service-accounts/token-secrets.js";
import { endedStatus, goneStatus, isGivenUp, notOffloadedStatus, refusedStatus } from "./fallback-status.js";
import { MinorChanges } from "./minor-changes.js";
import { meansOtherNode, notCarried } from "./not-carried.js";
import { informersOf, watchNamespace, type OffloadedNamespace } from "./offloaded-namespace.js";
import { podProblems } from "./pod-problems.js";
import { podOfEvent } from "./pod-of-event.js";
import { isTerminalPhase, localPodStatus, notReadyStatus, podStatusPatch } from "./pod-status.js";
import { virtualClaimsOf } from "./pod-volumes.js";
import { RestartCounts } from "./restart-counts.js";
import {
  forgeShadowPod,
  isOfEarlierPod,
  isPodOf,
  shadowPodChanges,
  shadowPodMetadata,
  shadowPodPatch,
  type ShadowPodOptions,
} from "./shadow-pod.js";
import { revivesContainers } from "./terminated-containers.js";
import { isUrgent } from "./urgent-status.js";

const WORKERS = 10;
/** How long a provider has to end a pod within the seconds that somebody has asked for: one that knows nothing of it ends it in the pod's own. */
const ASKED_END_MS = 2_000;
/** How soon a pod is looked at again whose namespace may yet be offloaded. */
const UNSETTLED_MS = 1_000;
/** How soon a change is asked for again that the provider has refused: its quota may have room by then. */
const REFUSED_RETRY_MS = 30_000;
/** After so long without anything to do for any pod, there is time for other things. */
const QUIET_MS = 1_000;
const OFFLOADED = { [Labels.shadowPod]: "true" };

/**
 * Runs this node's pods at the provider. Watches: local pods bound to the node; per offloaded namespace the ShadowPods,
 * pods and token Secrets that carry this node's name. Owns: the ShadowPods and token Secrets. Writes: the local pods'
 * status and label `liqo.io/shadowPod`, and deletes them once nothing is left at the provider.
 */
export class PodController {
  readonly name = "pods";
  /** Local pods of this node. */
  readonly pods: Informer<Pod>;
  private readonly controller: Controller;
  private readonly offloaded = new Map<string, OffloadedNamespace>();
  private readonly tokens: TokenSecrets;
  private readonly restarts = new RestartCounts();
  private readonly minorChanges = new MinorChanges();
  /** When the provider was asked to end a pod within other seconds than its own, by the local pod's UID. */
  private readonly endAskedAt = new Map<string, number>();
  private lastPassAt = 0;

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly namespaces: NamespaceManager,
  ) {
    const { local, config, logger } = context;
    this.tokens = new TokenSecrets(context);
    this.pods = new Informer(local, PodResource, { fieldSelector: `spec.nodeName=${config.nodeName}`, logger });
    this.controller = new Controller({
      name: this.name,
      workers: WORKERS,
      logger,
      reconcile: (key) =>
        context.counters.count(splitKey(key).namespace ?? "", PodResource.kind, () => this.reconcile(key)),
    });
    this.controller.watch(this.pods);
    this.pods.onEvent(({ type, object }) => {
      if (type === "deleted") this.forget(object.metadata?.uid ?? "");
    });
    namespaces.add((pair) => this.offload(pair));
    namespaces.onChange((namespace) => this.enqueueAll(namespace));
    const { foreignClusters, virtualNodes } = context.state;
    // Addresses are translated, and metadata filtered, by what these say.
    context.state.onProviderConfiguration(() => this.enqueueAll());
    foreignClusters.onEvent(() => this.enqueueAll());
    virtualNodes.onEvent(() => this.enqueueAll());
  }

  async start(): Promise<void> {
    this.pods.start();
    await this.pods.waitForSync();
    this.controller.start();
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await this.pods.stop();
  }

  /** Whether pods come, go or change at this moment. */
  get isBusy(): boolean {
    return Date.now() - this.lastPassAt < QUIET_MS;
  }

  /** What this node has at the provider for one local namespace. */
  offloadedNamespace(localNamespace: string): OffloadedNamespace | undefined {
    return this.offloaded.get(localNamespace);
  }

  /** The local pod that an event of the provider is about, if there is any. */
  podOfEvent({ local, remote }: NamespacePair, event: Event): KubeObject | undefined {
    const name = event.involvedObject.name ?? "";
    const pod = this.pods.find(local, name);
    if (!pod) return undefined;
    const { shadowPods, pods } = this.offloaded.get(local) ?? {};
    return podOfEvent(event, { pod, shadow: shadowPods?.find(remote, name), remotePod: pods?.find(remote, name) });
  }

  private offload(pair: NamespacePair): NamespaceActivity {
    const offloaded = watchNamespace(this.context, pair, this.tokens);
    const keyOf = (name: string | undefined): string[] => (name ? [`${pair.local}/${name}`] : []);
    this.controller
      .watch(offloaded.shadowPods, ({ metadata }) => keyOf(metadata.name))
      // Somebody may wait for what a pod does; those that are yet to come are in no hurry.
      .watch(offloaded.pods, ({ metadata }) => keyOf(metadata?.name), { isUrgent: true })
      .watch(offloaded.tokens, (secret) => keyOf(TokenSecrets.podNameOf(secret)));
    this.offloaded.set(pair.local, offloaded);
    const informers = informersOf(offloaded);
    // Nothing is decided before all three have been listed; then everything is looked at, also what is at the provider only.
    const enqueueAll = (): void => {
      this.enqueueAll(pair.local);
      const remoteOnly = [
        ...offloaded.shadowPods.list().map(({ metadata }) => metadata.name),
        ...offloaded.tokens.list().map((secret) => TokenSecrets.podNameOf(secret)),
      ];
      for (const key of remoteOnly.flatMap(keyOf)) this.controller.enqueue(key);
    };
    for (const informer of informers) {
      informer.onSync(enqueueAll);
      informer.start();
    }
    return {
      stop: async () => {
        this.offloaded.delete(pair.local);
        await Promise.all(informers.map((informer) => informer.stop()));
      },
    };
  }

  private enqueueAll(namespace?: string): void {
    const pods = namespace === undefined ? this.pods.list() : this.pods.inNamespace(namespace);
    for (const { metadata } of pods) this.controller.enqueue(`${metadata?.namespace}/${metadata?.name}`);
  }

  private forget(uid: string): void {
    this.restarts.forget(uid);
    this.minorChanges.settle(uid);
    this.endAskedAt.delete(uid);
    this.tokens.forget(uid);
  }

  private async reconcile(key: string): Promise<ReconcileResult | void> {
    this.lastPassAt = Date.now();
    const { namespace = "", name } = splitKey(key);
    const pod = this.pods.get(key);
    const offloaded = this.offloaded.get(namespace);
    if (!offloaded) return pod ? this.handleNotOffloaded(pod) : undefined;
    // Every informer that comes to life enqueues the namespace's pods.
    if (!informersOf(offloaded).every((informer) => informer.hasSynced)) return;
    const shadow = offloaded.shadowPods.find(offloaded.pair.remote, name);
    if (!pod) return this.removeRemote(name, shadow, offloaded);
    if (isDeleting(pod)) return this.finalize(pod, shadow, offloaded);
    if (isGivenUp(pod)) return this.removeRemote(name, shadow, offloaded);
    // Ended is ended, whatever the provider does with its copy: a finished job must not run again.
    if (isTerminalPhase(pod.status?.phase)) return;
    if (shadow && isOfEarlierPod(shadow, pod)) return isDeleting(shadow) ? undefined : this.deleteShadow(shadow);
    return this.run(pod, shadow, this.remotePod(name, shadow, offloaded), offloaded);
  }

  /** A pod that is to run: ShadowPod, tokens and label there, status here. */
  private async run(
    pod: Pod,
    shadow: ShadowPod | undefined,
    remotePod: Pod | undefined,
    offloaded: OffloadedNamespace,
  ): Promise<ReconcileResult | void> {
    const terminal = isTerminalPhase(shadow?.status?.phase);
    const [launched] = await Promise.allSettled([terminal ? undefined : this.launch(pod, shadow, offloaded)]);
    // Whatever else does not succeed: what the pod does is shown.
    const lookInMs = await this.copyStatus(pod, remotePod, shadow);
    if (launched.status === "rejected") throw launched.reason;
    const requeueAfterMs = earliest(launched.value, lookInMs);
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  /** Returns in how many milliseconds the tokens must be looked at again, if ever. */
  private async launch(
    present: Pod,
    shadow: ShadowPod | undefined,
    offloaded: OffloadedNamespace,
  ): Promise<number | undefined> {
    const pod = shadow ? present : await this.withApiServerSupport(present);
    // Tokens first: a kubelet that does not find the Secret tries again only after seconds.
    const refreshInMs = await this.tokens.ensure(pod, offloaded.pair, offloaded.tokens);
    if (!shadow) {
      await this.createShadow(pod, offloaded);
      return refreshInMs;
    }
    // Out of reach: what has changed follows when it can.
    if (pod.metadata?.labels?.[Labels.remoteUnavailable] === "true") return refreshInMs;
    const retryInMs = await this.updateShadowSpec(pod, await this.updateShadow(pod, shadow, offloaded), offloaded);
    return earliest(refreshInMs, retryInMs);
  }

  /** Written down on the pod before it goes: a change of what its namespace says is for pods that come later. */
  private async withApiServerSupport(pod: Pod): Promise<Pod> {
    const { name = "", namespace = "", uid, annotations } = pod.metadata ?? {};
    const wish = this.context.state.apiServerSupportOf(namespace);
    if (wish === undefined || annotations?.[Annotations.apiServerSupport] !== undefined) return pod;
    const patch = { metadata: { uid, annotations: { [Annotations.apiServerSupport]: wish } } };
    const options = { fieldManager: FIELD_MANAGER };
    const updated = await this.context.local.mergePatch(PodResource, { name, namespace }, patch, options);
    this.pods.observe(updated);
    return updated;
  }

  private shadowOptions({ remote }: NamespacePair): ShadowPodOptions {
    const { config, state } = this.context;
    const addresses = state.apiServerAddresses;
    const apiServer = addresses.length > 0 ? { addresses, port: config.apiServerPort } : undefined;
    return { config, remoteNamespace: remote, patch: state.offloadingPatch, apiServer };
  }

  private async createShadow(pod: Pod, { pair, shadowPods }: OffloadedNamespace): Promise<void> {
    const { local, remote, config, recorder } = this.context;
    const problems = podProblems(pod, config.apiServerSupport).join("; ");
    if (problems) return this.refuse(pod, `not offloaded: ${problems}`);
    const options = { ...this.shadowOptions(pair), virtualClaims: await virtualClaimsOf(pod, local) };
    const shadow = forgeShadowPod(pod, options);
    try {
      const by = { fieldManager: REFLECTION_FIELD_MANAGER };
      shadowPods.observe(await remote.create(ShadowPodResource, shadow, by));
      recorder.normal(PodResource, pod, "SuccessfulReflection", `offloaded to cluster ${config.foreignClusterId}`);
      const left = notCarried(pod).join(", ");
      if (left)
        recorder.warning(
          PodResource,
          pod,
          "NotCarried",
          `the remote pod is without what it cannot have there: ${left}`,
        );
      this.tellOfOtherNode(pod);
      if (!options.apiServer && wantsApiServer(pod, config.apiServerSupport))
        recorder.warning(PodResource, pod, "NoApiServer", noApiServer(config.foreignClusterId));
    } catch (error) {
      if (isAlreadyExists(error)) return this.refuseForeign(pod, pair);
      if (!isConflict(error)) recorder.warning(PodResource, pod, "FailedReflection", messageOf(error));
      if (isRefused(error)) await this.writeStatus(pod, refusedStatus(pod, messageOf(error)));
      throw error;
    }
  }

  private tellOfOtherNode(pod: Pod): void {
    const taken = meansOtherNode(pod).join(", ");
    const message = `taken from the provider's node, whichever it is: ${taken}`;
    if (taken) this.context.recorder.warning(PodResource, pod, "OtherNode", message);
  }

  /** It waits until somebody changes it. @throws TerminalError with the reason, which the pod's status and an event tell */
  private async refuse(pod: Pod, message: string): Promise<never> {
    this.context.recorder.warning(PodResource, pod, "FailedReflection", message);
    await this.writeStatus(pod, refusedStatus(pod, message));
    throw new TerminalError(message);
  }

  /** A ShadowPod of that name is there but not in our cache: either another's, or ours and not yet told. */
  private async refuseForeign(pod: Pod, pair: NamespacePair): Promise<void> {
    const { remote, config, recorder } = this.context;
    const name = pod.metadata?.name ?? "";
    const found = await remote.get(ShadowPodResource, { name, namespace: pair.remote });
    const reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
    if (!found || isReflected(found.metadata, reflection)) {
      throw new Error(`ShadowPod ${pair.remote}/${name} is about to appear or go`);
    }
    const message = `ShadowPod ${pair.remote}/${name} already exists in cluster ${config.foreignClusterId} and was not made from this pod`;
    recorder.warning(PodResource, pod, "FailedReflection", message);
    // Nothing here watches it: it is looked for again now and then.
    throw new Error(message);
  }

  private async updateShadow(pod: Pod, shadow: ShadowPod, { shadowPods }: OffloadedNamespace): Promise<ShadowPod> {
    const { remote, config, state } = this.context;
    const patch = shadowPodPatch(shadow.metadata, shadowPodMetadata(pod, config, state.offloadingPatch));
    if (!patch) return shadow;
    const { name = "", namespace } = shadow.metadata;
    const options = { fieldManager: REFLECTION_FIELD_MANAGER };
    const updated = await remote.mergePatch(ShadowPodResource, { name, namespace }, patch, options);
    shadowPods.observe(updated);
    return updated;
  }

  /**
   * Takes what has changed in the pod to the ShadowPod. What the provider refuses (its quota, or an older provider that knows of no such change)
   * shows in an event, keeps nothing else from being done, and is asked again; returns in how many milliseconds.
   */
  private async updateShadowSpec(
    pod: Pod,
    shadow: ShadowPod,
    { pair, shadowPods }: OffloadedNamespace,
  ): Promise<number | undefined> {
    const { remote, config, recorder } = this.context;
    let retryInMs: number | undefined;
    const { update, resize, debug } = shadowPodChanges(pod, shadow, this.shadowOptions(pair));
    for (const operations of [update, resize, debug]) {
      if (operations.length === 0) continue;
      const { name = "", namespace, uid } = shadow.metadata;
      const guarded = [{ op: "test", path: "/metadata/uid", value: uid }, ...operations];
      try {
        shadowPods.observe(await remote.jsonPatch(ShadowPodResource, { name, namespace }, guarded));
        if (operations === debug) this.tellOfOtherNode(debuggersOf(pod));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isRefused(error)) throw error;
        const message = `cluster ${config.foreignClusterId} does not take the change: ${messageOf(error)}`;
        recorder.warning(PodResource, pod, "FailedReflection", message);
        retryInMs = REFUSED_RETRY_MS;
      }
    }
    return retryInMs;
  }

  /** Returns in how many milliseconds to look again, if a change waits for others to come. */
  private async copyStatus(
    pod: Pod,
    remotePod: Pod | undefined,
    shadow: ShadowPod | undefined,
  ): Promise<number | undefined> {
    const { config, state } = this.context;
    if (remotePod) {
      if (revivesContainers(pod, remotePod)) {
        const message = "the provider has made the pod anew, which its restart policy does not allow";
        return this.writeStatus(pod, endedStatus(pod, { phase: "Failed", reason: PodReasons.replaced, message }));
      }
      const restartOffset = this.restarts.offset(pod, remotePod);
      const options = { hostIP: config.nodeIp, translate: (ip: string) => state.translate(ip), restartOffset };
      return this.writeStatus(pod, localPodStatus(pod, remotePod, options));
    }
    if (!shadow) return undefined;
    const phase = shadow.status?.phase;
    if (isTerminalPhase(phase)) {
      const late = await this.untoldRemotePod(pod, shadow);
      if (late) return this.copyStatus(pod, late, shadow);
      const message = "the remote pod has ended and is gone";
      return this.writeStatus(pod, endedStatus(pod, { phase, reason: "RemotePodTerminated", message }));
    }
    // Why there is none the provider tells by itself.
    const refusal = shadow.status?.message;
    if (refusal) return this.writeStatus(pod, refusedStatus(pod, refusal));
    return this.writeStatus(pod, notReadyStatus(pod, "RemotePodMissing", "the remote pod is gone for the moment"));
  }

  /** The ShadowPod's watch may be ahead of the pods': an end that is written down is never looked at again, and the pod itself tells more of it. */
  private async untoldRemotePod(pod: Pod, shadow: ShadowPod): Promise<Pod | undefined> {
    const { name = "", namespace } = shadow.metadata;
    const found = await this.context.remote.get(PodResource, { name, namespace });
    if (!found || !isPodOf(found, shadow)) return undefined;
    this.offloaded.get(pod.metadata?.namespace ?? "")?.pods.observe(found);
    return found;
  }

  /** As copyStatus. Pods that are not offloaded are not labelled as such. */
  private async writeStatus(
    pod: Pod,
    status: NonNullable<Pod["status"]>,
    labels: Record<string, string> = OFFLOADED,
  ): Promise<number | undefined> {
    const { name = "", namespace, uid = "" } = pod.metadata ?? {};
    const patch = podStatusPatch(pod, status, labels);
    const waitMs = patch && !isUrgent(pod.status, status) ? this.minorChanges.waitMs(uid) : 0;
    if (waitMs > 0) return waitMs;
    this.minorChanges.settle(uid);
    if (!patch) return undefined;
    const { local, recorder } = this.context;
    try {
      const options = { subresource: "status", fieldManager: FIELD_MANAGER } as const;
      this.pods.observe(await local.mergePatch(PodResource, { name, namespace }, patch, options));
    } catch (error) {
      // The pod has gone, or another has its name: the watch will tell.
      if (isNotFound(error) || isConflict(error)) return undefined;
      recorder.warning(PodResource, pod, "FailedReflection", `status not taken: ${messageOf(error)}`);
      throw error;
    }
    return undefined;
  }

  /** The local pod is being deleted: the provider's first, and the local one when nothing is left there. */
  private async finalize(
    pod: Pod,
    shadow: ShadowPod | undefined,
    offloaded: OffloadedNamespace,
  ): Promise<ReconcileResult | void> {
    const name = pod.metadata?.name ?? "";
    const remotePod = offloaded.pods.find(offloaded.pair.remote, name);
    if (shadow || remotePod) {
      const waitMs = shadow && !isDeleting(shadow) ? await this.endRemote(pod, shadow, remotePod) : undefined;
      // An end that only the ShadowPod tells of would go with it.
      const isTold = remotePod !== undefined || isTerminalPhase(shadow?.status?.phase);
      if (isTold && !isTerminalPhase(pod.status?.phase)) await this.copyStatus(pod, remotePod, shadow);
      return waitMs === undefined ? undefined : { requeueAfterMs: waitMs };
    }
    await this.tokens.remove(name, offloaded.pair, offloaded.tokens);
    await this.deleteLocal(pod);
  }

  private async removeRemote(
    name: string,
    shadow: ShadowPod | undefined,
    { pair, tokens }: OffloadedNamespace,
  ): Promise<void> {
    await Promise.all([
      shadow && !isDeleting(shadow) ? this.deleteShadow(shadow) : undefined,
      this.tokens.remove(name, pair, tokens),
    ]);
  }

  /**
   * Deletes the ShadowPod, by which its pod ends in its own time. Where whoever deletes the local pod has asked for another time, the provider is
   * first told that; returns in how many milliseconds to look again.
   */
  private async endRemote(pod: Pod, shadow: ShadowPod, remotePod: Pod | undefined): Promise<number | undefined> {
    const waitMs = await this.tellGracePeriod(pod, shadow, remotePod);
    if (waitMs === undefined) await this.deleteShadow(shadow);
    return waitMs;
  }

  /** How many milliseconds the provider still has to end the pod as it was told; undefined where there is nothing to tell, or no time left. */
  private async tellGracePeriod(pod: Pod, shadow: ShadowPod, remotePod: Pod | undefined): Promise<number | undefined> {
    const seconds = askedGracePeriod(pod);
    const isEnding = !remotePod || isDeleting(remotePod) || isTerminalPhase(remotePod.status?.phase);
    if (seconds === undefined || isEnding) return undefined;
    const uid = pod.metadata?.uid ?? "";
    const askedAt = this.endAskedAt.get(uid);
    if (askedAt !== undefined) {
      const leftMs = askedAt + ASKED_END_MS - Date.now();
      return leftMs > 0 ? leftMs : undefined;
    }
    const { name = "", namespace } = shadow.metadata;
    const patch = { metadata: { annotations: { [Annotations.deletionGracePeriod]: String(seconds) } } };
    const options = { fieldManager: REFLECTION_FIELD_MANAGER };
    await this.context.remote.mergePatch(ShadowPodResource, { name, namespace }, patch, options);
    this.endAskedAt.set(uid, Date.now());
    return ASKED_END_MS;
  }

  private async deleteShadow(shadow: ShadowPod): Promise<void> {
    const { name = "", namespace, uid } = shadow.metadata;
    await this.context.remote.delete(ShadowPodResource, { name, namespace }, { uid });
  }

  private async deleteLocal(pod: Pod): Promise<void> {
    const { name = "", namespace, uid, finalizers = [] } = pod.metadata ?? {};
    // Whoever holds it may wait to hear how it has ended, as Jobs do that count their failures: nobody else would tell.
    if (finalizers.length > 0 && !isTerminalPhase(pod.status?.phase)) await this.writeStatus(pod, goneStatus(pod), {});
    try {
      await this.context.local.delete(PodResource, { name, namespace }, { uid, gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** What the provider runs for the ShadowPod there is now, not for one before it. */
  private remotePod(name: string, shadow: ShadowPod | undefined, offloaded: OffloadedNamespace): Pod | undefined {
    const pod = offloaded.pods.find(offloaded.pair.remote, name);
    return pod && shadow && isPodOf(pod, shadow) ? pod : undefined;
  }

  /** Bound to this node, but its namespace is not offloaded (offloading specification, §6.2). */
  private async handleNotOffloaded(pod: Pod): Promise<ReconcileResult | void> {
    const { recorder } = this.context;
    const standing = this.namespaces.standingOf(pod.metadata?.namespace ?? "");
    if (standing === "active") return;
    const phase = pod.status?.phase;
    if (!isDeleting(pod) && isTerminalPhase(phase)) return;
    if (standing === "unsettled") return { requeueAfterMs: UNSETTLED_MS };
    if (isDeleting(pod)) return this.deleteLocal(pod);
    const status = notOffloadedStatus(pod);
    if (!podStatusPatch(pod, status)) return;
    recorder.warning(PodResource, pod, "ReflectionDisabled", status.message ?? "");
    await this.writeStatus(pod, status, {});
  }
}

function noApiServer(provider: string): string {
  return (
    `the pod's tokens are of this cluster, but cluster ${provider} has no way to its API server, as their network is not set up: ` +
    `make the pod anew once it is, or annotate it ${Annotations.apiServerSupport}="disabled" if it asks no API server`
  );
}

/** The pod with no other containers and volumes: of those has been told. */
function debuggersOf({ spec, ...pod }: Pod): Pod {
  return { ...pod, spec: { containers: [], ephemeralContainers: spec?.ephemeralContainers } };
}

function earliest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
