import type { Pod } from "kubernetes-types/core/v1";
import {
  ConfigurationResource,
  Labels,
  QuotaResource,
  ShadowPodResource,
  toldGracePeriod,
  type Configuration,
  type ResourceList,
  type ShadowPod,
  type ShadowPodStatus,
} from "../../../api/index.js";
import {
  Controller,
  isAlreadyExists,
  isDeleting,
  isOwnedBy,
  messageOf,
  PodResource,
  type ReconcileResult,
} from "../../../runtime/index.js";
import { resized } from "../../../virtual-node/pods/pod-changes.js";
import type { ControllerContext } from "../../context.js";
import { takesMore } from "../../webhooks/pod-cost.js";
import { isBeyondRoom, withRoom } from "../../webhooks/pod-room.js";
import { configurationOf } from "../configuration-of.js";
import { FIELD_MANAGER } from "../field-manager.js";
import { hasEnded } from "../has-ended.js";
import { podsOfShadowPods } from "../informers.js";
import { unlessGone } from "../unless-gone.js";
import { appliedChanges, applyChanges, changesDigest, hasNewChanges } from "./changes.js";
import { metadataPatch, podOf } from "./pod.js";
import { Crowd } from "./crowd.js";
import { leftOut } from "./left-out.js";
import { userOf, type QuotaRoom } from "./quota-room.js";

/** Pods of a whole Deployment arrive together: each is one request, so many run at the same time. */
const WORKERS = 20;
/** How long a new Pod may be Pending before its ShadowPod says so, and run in a crowd before it does. */
const STARTING_MS = 20_000;
/** So many Pods made, or begun to run, within so long are a crowd: that they run is told when it has come to rest, as nobody acts on it. */
const CROWD = { pods: 10, milliseconds: 5_000 };
const FAILED_CREATE = "FailedCreatePod";

/**
 * On the provider. Watches ShadowPods and the Pods made for them. Owns one Pod for each ShadowPod, of the same name, and gives it what
 * changes in the ShadowPod, as far as a running Pod takes it; writes the Pod's phase into the ShadowPod's status (offloading
 * specification, §5.4). Decides from the caches only, so that a Pod follows its ShadowPod by one request.
 */
export function shadowPodController(context: ControllerContext, room: QuotaRoom): Controller {
  const { client, informers, config, logger } = context;
  const shadowPods = informers.for(ShadowPodResource);
  const pods = podsOfShadowPods(context);
  const configurations = informers.for(ConfigurationResource);
  const quotas = informers.for(QuotaResource);
  const events = context.recorder("shadowpod-controller");
  const made = new Crowd(CROWD.pods, CROWD.milliseconds);
  const begun = new Crowd(CROWD.pods, CROWD.milliseconds);
  pods.onEvent((event) => {
    if (event.type === "updated" && isRunning(event.object) && !isRunning(event.old)) begun.come();
  });

  async function reconcile(key: string): Promise<ReconcileResult | void> {
    const shadow = shadowPods.get(key);
    const pod = pods.get(key);
    if (!shadow || isDeleting(shadow) || hasEnded(shadow)) room.forget(key);
    if (!shadow) return pod && removeOrphan(pod);
    if (isDeleting(shadow) || hasEnded(shadow)) return;
    const seconds = toldGracePeriod(shadow);
    if (seconds !== undefined) return pod && isOwnedBy(pod, shadow) ? endPod(pod, seconds) : undefined;
    if (!pod) return createPod(shadow);
    if (!isOwnedBy(pod, shadow)) return removePredecessor(shadow, pod);
    const { latest, changes } = await updateSpec(shadow, pod);
    await updateMetadata(shadow, latest, changes);
    return copyPhase(shadow, pod);
  }

  async function createPod(shadow: ShadowPod): Promise<void> {
    const pod = podOf(shadow, configurationFor(shadow));
    const problem = config.resourceEnforcement ? room.take(shadow) : undefined;
    if (problem) return refuse(shadow, `the pod waits for room: ${problem}`);
    made.come();
    try {
      const created = await createWithin(shadow, pod);
      if (!created || (await isTakenBack(shadow, created))) return;
      pods.observe(created);
      tellLeftOut(shadow, leftOut(pod, created));
    } catch (error) {
      const present = isAlreadyExists(error) ? await client.get(PodResource, nameOf(pod)) : undefined;
      if (present && isOwnedBy(present, shadow)) return pods.observe(present);
      await refuse(shadow, `cannot create the pod: ${messageOf(error)}`);
      throw error;
    } finally {
      room.settle(shadow);
    }
    events.normal(ShadowPodResource, shadow, "CreatedPod", `created pod ${shadow.metadata.name ?? ""}`);
  }

  /**
   * Makes the Pod if there is room for all that it becomes by admission. That is known once it has been refused for what was asked for; where a webhook of somebody's
   * does not say what it would do, only once the Pod is there. Undefined when the Pod waits.
   */
  async function createWithin(shadow: ShadowPod, pod: Pod): Promise<Pod | undefined> {
    const by = { fieldManager: FIELD_MANAGER };
    const create = (taken?: ResourceList): Promise<Pod> => client.create(PodResource, withRoom(pod, taken), by);
    try {
      return await create(room.takenFor(shadow));
    } catch (error) {
      if (!isBeyondRoom(error)) throw error;
    }
    const larger = await client
      .create(PodResource, withRoom(pod, undefined), { ...by, dryRun: true })
      .catch(() => undefined);
    if (!larger) return create();
    const excess = room.confirm(shadow, larger);
    if (!excess) return create(room.takenFor(shadow));
    await refuse(shadow, beyondRoom(excess));
    return undefined;
  }

  /** Whether a Pod has been made larger than there is room for. Then it is deleted at once, and made again when there is. */
  async function isTakenBack(shadow: ShadowPod, created: Pod): Promise<boolean> {
    const excess = config.resourceEnforcement ? room.confirm(shadow, created) : undefined;
    if (!excess) return false;
    await client.delete(PodResource, nameOf(created), { uid: created.metadata?.uid });
    await refuse(shadow, beyondRoom(excess));
    return true;
  }

  /** The consumer's virtual node brings it to the pod there. */
  function tellLeftOut(shadow: ShadowPod, fields: string[]): void {
    if (fields.length === 0) return;
    const message = `the provider's Kubernetes has left out what it does not know or has switched off: ${fields.join(", ")}`;
    events.warning(ShadowPodResource, shadow, "NotCarried", message);
  }

  /** Why there is no Pod, in an event and where the consumer's virtual node reads it. */
  async function refuse(shadow: ShadowPod, message: string): Promise<void> {
    events.warning(ShadowPodResource, shadow, FAILED_CREATE, message);
    await writeStatus(shadow, { phase: "Pending", reason: FAILED_CREATE, message });
  }

  /** Before the metadata, which notes which changes the Pod has been given by then: those that wait for room must be found again. */
  async function updateSpec(shadow: ShadowPod, pod: Pod): Promise<{ latest: Pod; changes: string }> {
    const changes = changesDigest(shadow);
    if (isDeleting(pod) || hasEnded(pod) || !hasNewChanges(shadow, pod)) return { latest: pod, changes };
    const problem = config.resourceEnforcement && grows(shadow, pod) ? room.take(shadow) : undefined;
    if (problem) {
      events.warning(ShadowPodResource, shadow, "FailedUpdatePod", `the pod's resources wait for room: ${problem}`);
      return { latest: pod, changes: appliedChanges(pod) };
    }
    try {
      const result = await unlessGone(applyChanges(client, shadow, pod));
      for (const refusal of result?.refusals ?? []) {
        events.warning(ShadowPodResource, shadow, "FailedUpdatePod", `cannot change the pod: ${refusal}`);
      }
      if (!result) return { latest: pod, changes };
      pods.observe(result.pod);
      return { latest: result.pod, changes };
    } finally {
      room.settle(shadow);
    }
  }

  async function updateMetadata(shadow: ShadowPod, pod: Pod, changes: string): Promise<void> {
    const patch = isDeleting(pod) ? undefined : metadataPatch(shadow, pod, changes);
    if (!patch) return;
    try {
      const updated = await unlessGone(
        client.mergePatch(PodResource, nameOf(pod), patch, { fieldManager: FIELD_MANAGER }),
      );
      if (updated) pods.observe(updated);
    } catch (error) {
      events.warning(ShadowPodResource, shadow, "FailedUpdatePod", `cannot update the pod: ${messageOf(error)}`);
      throw error;
    }
  }

  async function copyPhase(shadow: ShadowPod, pod: Pod): Promise<ReconcileResult | void> {
    const phase = pod.status?.phase as ShadowPodPhase | undefined;
    if (!phase || isMadeAnew(pod)) return;
    const { phase: known = "Unknown", reason } = shadow.status ?? {};
    // Most Pods run a moment later: then this is one write less.
    const age = Date.now() - Date.parse(pod.metadata?.creationTimestamp ?? "");
    const isStarting = phase === "Pending" && known === "Unknown" && !reason;
    if (isStarting && age < STARTING_MS) return { requeueAfterMs: STARTING_MS };
    const isCrowd = made.isThere || begun.isThere;
    if (phase === "Running" && age < STARTING_MS && isCrowd) return { requeueAfterMs: CROWD.milliseconds };
    await writeStatus(shadow, { phase });
  }

  async function writeStatus(shadow: ShadowPod, { phase, reason, message }: ShadowPodStatus): Promise<void> {
    const { status = {} } = shadow;
    if (status.phase === phase && status.reason === reason && status.message === message) return;
    const patch = { status: { phase, reason: reason ?? null, message: message ?? null } };
    const updated = await unlessGone(
      client.mergePatch(ShadowPodResource, nameOf(shadow), patch, { subresource: "status" }),
    );
    if (updated) shadowPods.observe(updated);
  }

  /** Its ShadowPod goes once it is seen to end, and no other Pod comes before. */
  async function endPod(pod: Pod, gracePeriodSeconds: number): Promise<void> {
    if (isDeleting(pod)) return;
    await client.delete(PodResource, nameOf(pod), { uid: pod.metadata?.uid, gracePeriodSeconds });
  }

  /** The garbage collector does the same, but only some time after a kind was installed does it know of it. */
  async function removeOrphan(pod: Pod): Promise<void> {
    if (isDeleting(pod) || (await client.get(ShadowPodResource, nameOf(pod)))) return;
    await client.delete(PodResource, nameOf(pod), { uid: pod.metadata?.uid });
  }

  /** A Pod of a former ShadowPod of this name: ours is made when it is gone. */
  async function removePredecessor(shadow: ShadowPod, pod: Pod): Promise<void> {
    if (isDeleting(pod)) return;
    const owner = pod.metadata?.ownerReferences?.find(({ controller }) => controller);
    if (owner?.kind !== ShadowPodResource.kind) {
      events.warning(
        ShadowPodResource,
        shadow,
        FAILED_CREATE,
        "a pod of this name exists and belongs to another owner",
      );
      return;
    }
    await client.delete(PodResource, nameOf(pod), { uid: pod.metadata?.uid });
  }

  function configurationFor(shadow: ShadowPod): Configuration | undefined {
    const origin = shadow.metadata.labels?.[Labels.offloadingOrigin];
    const isNeeded = (shadow.spec.pod?.hostAliases ?? []).length > 0;
    return origin && isNeeded ? configurationOf(configurations, origin) : undefined;
  }

  return (
    new Controller({ name: "shadow-pod", reconcile, logger, workers: WORKERS })
      .watch(shadowPods)
      .watch(pods)
      // Room that has become free is for those who wait for it.
      .watch(pods, (pod, { type }) =>
        type === "deleted" || hasEnded(pod) ? (userOf(pod) ?? []).flatMap((user) => room.waitingFor(user)) : [],
      )
      .watch(quotas, () => room.waitingFor())
  );
}

type ShadowPodPhase = ShadowPodStatus["phase"];

function beyondRoom(excess: string): string {
  return `the pod waits for room, with what this cluster's admission adds to it: ${excess}`;
}

/** A Pod that is to run for ever and is being deleted, as from a node that is emptied: its end is not the ShadowPod's, another one follows. */
function isMadeAnew(pod: Pod): boolean {
  return isDeleting(pod) && hasEnded(pod) && (pod.spec?.restartPolicy ?? "Always") === "Always";
}

/** Whether its ShadowPod asks for more than the Pod takes, with all that this cluster has given it besides. */
function grows(shadow: ShadowPod, { spec = { containers: [] } }: Pod): boolean {
  return takesMore(resized(spec, shadow.spec.pod ?? spec), spec);
}

function isRunning({ status }: Pod): boolean {
  return status?.phase === "Running";
}

function nameOf({ metadata }: Pod | ShadowPod): { name: string; namespace?: string } {
  return { name: metadata?.name ?? "", namespace: metadata?.namespace };
}
