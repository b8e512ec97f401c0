import {
  Finalizers,
  Labels,
  ResourceSliceResource,
  type ResourceSlice,
  type ResourceSliceStatus,
  type VirtualNode,
} from "../../api/index.js";
import {
  addFinalizer,
  hasFinalizer,
  isAlreadyExists,
  isDeleting,
  isForbidden,
  removeFinalizer,
  type EventRecorder,
  type Informer,
  type KubeClient,
  type ReconcileResult,
  sameJson,
} from "../../runtime/index.js";
import { tellSliceAnswer } from "../authentication/slice-events.js";
import { asksForReplication, copyOf, isOwnCopy, type ReplicationRoute } from "./copy.js";
import type { ReplicatedKind, ReplicatedObject } from "./kinds.js";
import { endNodesOf } from "./slice-nodes.js";

/** One kind's two sides. */
export interface ReplicationPair {
  type: ReplicatedKind;
  local: Informer<ReplicatedObject>;
  remote: Informer<ReplicatedObject>;
}

export interface ReplicationEnds {
  route: ReplicationRoute;
  localClient: KubeClient;
  remoteClient: KubeClient;
  virtualNodes: Informer<VirtualNode>;
  events: EventRecorder;
  /** Whether the peer was declared gone for good and does not answer. */
  isPeerDead(): boolean;
}

/** Brings the copy of one source to what the source says, and the source's status to what the copy says (control plane specification, §9). */
export async function replicateItem(
  ends: ReplicationEnds,
  pair: ReplicationPair,
  name: string,
): Promise<ReconcileResult | void> {
  const { localNamespace, remoteClusterID } = ends.route;
  const source = pair.local.find(localNamespace, name);
  if (source && asksForReplication(source) && !isForUs(source, remoteClusterID)) {
    ends.events.warning(
      pair.type,
      source,
      "WrongRemoteCluster",
      `this namespace replicates to cluster ${remoteClusterID} only: not replicated`,
    );
    return;
  }
  if (!source || !asksForReplication(source) || isDeleting(source)) return withdraw(ends, pair, name, source);
  const held = await holdSource(ends, pair, source);
  // Without knowing what is there, a copy might be made twice; the first list brings this item back.
  if (!pair.remote.hasSynced) return;
  const sent = await send(ends, pair, held, pair.remote.find(ends.route.remoteNamespace, name));
  if (sent) await bringStatusBack(ends, pair, held, sent);
}

function isForUs({ metadata }: ReplicatedObject, remoteClusterID: string): boolean {
  return metadata.labels?.[Labels.remoteID] === remoteClusterID;
}

/** The source may not go before its copy. */
async function holdSource(
  { localClient }: ReplicationEnds,
  { type, local }: ReplicationPair,
  source: ReplicatedObject,
): Promise<ReplicatedObject> {
  if (hasFinalizer(source, Finalizers.replicatorResource)) return source;
  const held = await addFinalizer(localClient, type, source, Finalizers.replicatorResource);
  local.observe(held);
  return held;
}

/** Creates the copy, or overwrites its spec. Undefined while an earlier copy is still going away. */
async function send(
  ends: ReplicationEnds,
  { type, remote }: ReplicationPair,
  source: ReplicatedObject,
  copy: ReplicatedObject | undefined,
): Promise<ReplicatedObject | undefined> {
  if (!copy) return create(ends, { type, remote }, source);
  if (isDeleting(copy) || sameJson(copy.spec, source.spec)) return copy;
  const updated = await ends.remoteClient.replace(type, { ...copy, spec: source.spec });
  remote.observe(updated);
  return updated;
}

async function create(
  { route, remoteClient, events }: ReplicationEnds,
  { type, remote }: Pick<ReplicationPair, "type" | "remote">,
  source: ReplicatedObject,
): Promise<ReplicatedObject | undefined> {
  const copy = copyOf(source, route);
  try {
    const created = await remoteClient.create(type, copy);
    remote.observe(created);
    return created;
  } catch (error) {
    if (isForbidden(error)) {
      events.warning(
        type,
        source,
        "ReplicationForbidden",
        `cluster ${route.remoteClusterID} does not permit it (any more)`,
      );
    }
    if (!isAlreadyExists(error)) throw error;
    const { name = "", namespace } = copy.metadata;
    const present = await remoteClient.get(type, { name, namespace });
    if (present && isOwnCopy(present, route.localClusterID)) {
      remote.observe(present);
      return present;
    }
    const message = `cluster ${route.remoteClusterID} has an own ${type.kind} ${namespace}/${name}: choose another name`;
    events.warning(type, source, "NameConflict", message);
    throw new Error(message, { cause: error });
  }
}

async function bringStatusBack(
  { localClient, events }: ReplicationEnds,
  { type, local }: ReplicationPair,
  source: ReplicatedObject,
  { status }: ReplicatedObject,
): Promise<void> {
  if (status === undefined || sameJson(source.status, status)) return;
  local.observe(await localClient.replaceStatus(type, { ...source, status }));
  if (type.kind === ResourceSliceResource.kind) {
    tellSliceAnswer(events, source as ResourceSlice, status as ResourceSliceStatus);
  }
}

/** Deletes the copy, and lets the source go once the copy is gone. Virtual nodes that the source owns leave first, while the copy still backs them. */
async function withdraw(
  ends: ReplicationEnds,
  pair: ReplicationPair,
  name: string,
  source: ReplicatedObject | undefined,
): Promise<ReconcileResult | void> {
  const isHeld = source !== undefined && hasFinalizer(source, Finalizers.replicatorResource);
  if (source && !isHeld && !pair.remote.find(ends.route.remoteNamespace, name)) return;
  // Nothing is left to be used up in order at a peer that is gone for good.
  const waitMs = isHeld && !ends.isPeerDead() ? await endNodesOf(ends, pair.type, source) : undefined;
  if (waitMs !== undefined) return { requeueAfterMs: waitMs };
  const gone = await removeCopy(ends, pair, name, source);
  if (!isHeld) return;
  if (gone) {
    await removeFinalizer(ends.localClient, pair.type, source, Finalizers.replicatorResource);
    return;
  }
  // While the copy ends, its status still tells how far it is.
  const copy = pair.remote.find(ends.route.remoteNamespace, name);
  if (copy) await bringStatusBack(ends, pair, source, copy);
}

/** True once there is no copy, or none that we could still do anything about. */
async function removeCopy(
  ends: ReplicationEnds,
  { type, remote }: ReplicationPair,
  name: string,
  source: ReplicatedObject | undefined,
): Promise<boolean> {
  if (ends.isPeerDead()) return true;
  const id = { name, namespace: ends.route.remoteNamespace };
  const read = (): Promise<ReplicatedObject | undefined> => ends.remoteClient.get(type, id);
  try {
    const copy = remote.hasSynced ? remote.find(id.namespace, name) : await read();
    if (!copy || !isOwnCopy(copy, ends.route.localClusterID)) return true;
    if (!isDeleting(copy)) await ends.remoteClient.delete(type, id, { uid: copy.metadata.uid });
    const left = await read();
    if (left) remote.observe(left);
    return left === undefined || left.metadata.uid !== copy.metadata.uid;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    await confirmForbidden(read);
    const message = `cluster ${ends.route.remoteClusterID} does not permit access any more: its copy counts as gone`;
    if (source) ends.events.warning(type, source, "CopyOutOfReach", message);
    return true;
  }
}

/** Passes when reading is forbidden as well; a copy that can be read is still there, and its deletion is tried again. */
async function confirmForbidden(read: () => Promise<unknown>): Promise<void> {
  try {
    if ((await read()) !== undefined) throw new Error("the copy can be read but not deleted");
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
}
