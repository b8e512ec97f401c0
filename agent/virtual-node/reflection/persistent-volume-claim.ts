import type { PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { Annotations, LabelValues, Labels, compareQuantities } from "../../api/index.js";
import {
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  StorageClassResource,
  isAlreadyExists,
  isDeleting,
} from "../../runtime/index.js";
import { reportCapacity, reschedule } from "../../storage/claim-updates.js";
import { BINDING_ANNOTATIONS, isVirtualClaim, refuseImpossible, selectedNodeOf } from "../../storage/virtual-claim.js";
import {
  claimUidOf,
  liesWith,
  requestedStorage,
  virtualVolume,
  virtualVolumeNameOf,
  volumeNodesOf,
} from "../../storage/virtual-volume.js";
import type { ReflectedKind, ReflectionScope, Verdict } from "./reflected-kind.js";

/** On the copy: of which claim its data is. One that is made anew under the same name must not find the data of its predecessor, unless it asks for that one's volume. */
const ORIGINAL_UID_ANNOTATION = "storage.liqo.io/virtual-pvc-uid";
/** No pod of this cluster mounts it: those that use the volume run with the provider. */
const PLACEHOLDER = { hostPath: { path: "/tmp/liqo-placeholder" } };

/**
 * PersistentVolumeClaims whose data is with this provider (offloading specification, §10): the scheduler has chosen one of its virtual nodes for
 * the first pod, or they have their volume there already. The claim at the provider is of a class of its own; the volume here only says
 * where the data is.
 */
export const persistentVolumeClaimKind: ReflectedKind<PersistentVolumeClaim, PersistentVolumeClaim> = {
  name: "persistentvolumeclaim",
  local: PersistentVolumeClaimResource,
  remote: PersistentVolumeClaimResource,
  keepsWhole: true,
  accepts,
  keeps: isRetained,
  forge: (claim, scope, present) => ({ spec: remoteClaimSpec(claim, storageClassFor(claim, scope, present), present) }),
  metadata: ({ annotations }, claim) => {
    for (const key of BINDING_ANNOTATIONS) delete annotations[key];
    annotations[ORIGINAL_UID_ANNOTATION] = dataOwnerOf(claim);
  },
  reflected: (claim, copy, scope) =>
    claim.spec?.volumeName ? follow(claim, copy, scope) : provide(claim, copy, scope),
};

async function accepts(
  claim: PersistentVolumeClaim,
  scope: ReflectionScope,
  present: PersistentVolumeClaim | undefined,
): Promise<Verdict> {
  // One that ends keeps its data until its pods have gone. A copy that ends must be seen to have ended: applying it would make another one.
  if (isDeleting(claim) || (present && isDeleting(present))) return "leave";
  // Others' claims are looked at no further.
  if (!present && !isVirtualClaim(claim)) return "leave";
  const original = present?.metadata?.annotations?.[ORIGINAL_UID_ANNOTATION];
  if (original !== undefined && original !== dataOwnerOf(claim)) return false;
  if (claim.spec?.volumeName) return acceptsBound(claim, scope, present);
  if (!isVirtualClaim(claim) || !isSelectedHere(claim, scope)) return false;
  const { local, recorder, config } = scope.context;
  refuseImpossible(claim, recorder);
  if (scope.context.state.storageClass !== undefined) return true;
  await reschedule(local, recorder, claim, `cluster ${config.foreignClusterId} offers no storage class`);
  return "leave";
}

/** The UID of the claim that the data was made for: the claim's own, unless its volume was another's before. */
function dataOwnerOf({ metadata, spec }: PersistentVolumeClaim): string {
  return claimUidOf(spec?.volumeName) ?? metadata?.uid ?? "";
}

/** Whether the volume here that stands for a copy's data is to outlive its claim: so does the data, until the volume goes. */
async function isRetained(
  copy: PersistentVolumeClaim,
  { context }: ReflectionScope,
  claim: PersistentVolumeClaim | undefined,
): Promise<boolean> {
  const { local, recorder, config } = context;
  const name = virtualVolumeNameOf(copy.metadata?.annotations?.[ORIGINAL_UID_ANNOTATION] ?? "");
  const volume = await local.get(PersistentVolumeResource, { name });
  const isKept = volume?.spec?.persistentVolumeReclaimPolicy === "Retain" && !isDeleting(volume);
  if (!isKept || !liesWith(volume, config.foreignClusterId)) return false;
  if (claim) {
    const message = `the data of a former claim of this name is kept in cluster ${config.foreignClusterId}, as its volume ${name} is: give this claim another name, or delete that volume`;
    recorder.warning(PersistentVolumeClaimResource, claim, "RemoteVolumeRetained", message);
  }
  return true;
}

/** Data must not go because its volume is not to be seen for a moment: only a volume that lies elsewhere tells that the copy is of no use. */
async function acceptsBound(
  claim: PersistentVolumeClaim,
  { context }: ReflectionScope,
  present: PersistentVolumeClaim | undefined,
): Promise<Verdict> {
  const { local, recorder, config } = context;
  const volume = await local.get(PersistentVolumeResource, { name: claim.spec?.volumeName ?? "" });
  if (!volume) return "leave";
  if (!liesWith(volume, config.foreignClusterId)) return false;
  if (!present) {
    const message = `the claim and its data have gone from cluster ${config.foreignClusterId}: made anew, empty`;
    recorder.warning(PersistentVolumeClaimResource, claim, "RemoteVolumeLost", message);
  }
  return true;
}

/** The volume is made before the provider has one: that may wait for the pod, and the pod waits for this. */
async function provide(
  claim: PersistentVolumeClaim,
  copy: PersistentVolumeClaim,
  { context }: ReflectionScope,
): Promise<void> {
  const { local, config, recorder } = context;
  const name = claim.spec?.storageClassName;
  const storageClass = name ? await local.get(StorageClassResource, { name }) : undefined;
  const provider = config.foreignClusterId;
  const volume = virtualVolume({
    claim,
    storageClass,
    labels: { [Labels.remoteClusterID]: provider },
    source: PLACEHOLDER,
    capacity: copy.status?.capacity?.["storage"],
    nodes: volumeNodesOf(provider),
  });
  try {
    await local.create(PersistentVolumeResource, volume);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return;
  }
  const message = `volume ${volume.metadata?.name} is in cluster ${provider}, of its class ${copy.spec?.storageClassName ?? "by default"}`;
  recorder.normal(PersistentVolumeClaimResource, claim, "ProvisioningSucceeded", message);
}

async function follow(
  claim: PersistentVolumeClaim,
  copy: PersistentVolumeClaim,
  { context: { local } }: ReflectionScope,
): Promise<void> {
  const volume = await local.get(PersistentVolumeResource, { name: claim.spec?.volumeName ?? "" });
  if (volume) await reportCapacity(local, claim, volume, copy.status?.capacity?.["storage"]);
}

/** What cannot be changed any more stays as it is; room is only ever added. */
export function remoteClaimSpec(
  claim: PersistentVolumeClaim,
  storageClassName: string | undefined,
  present?: PersistentVolumeClaim,
): NonNullable<PersistentVolumeClaim["spec"]> {
  const { accessModes, volumeMode, resources } = claim.spec ?? {};
  return {
    accessModes: present?.spec?.accessModes ?? remoteAccessModes(claim) ?? accessModes,
    ...(volumeMode ? { volumeMode } : {}),
    ...(storageClassName ? { storageClassName } : {}),
    resources: { ...resources, requests: { ...resources?.requests, ...roomOf(claim, present) } },
  };
}

function roomOf(claim: PersistentVolumeClaim, present: PersistentVolumeClaim | undefined): { storage: string } {
  const wanted = requestedStorage(claim);
  const given = present ? requestedStorage(present) : "0";
  return { storage: compareQuantities(given, wanted) > 0 ? given : wanted };
}

function remoteAccessModes({ metadata }: PersistentVolumeClaim): string[] | undefined {
  const modes = metadata?.annotations?.[Annotations.remoteAccessModes]?.split(",").map((mode) => mode.trim());
  return modes?.some((mode) => mode !== "") ? modes : undefined;
}

function storageClassFor(
  { metadata }: PersistentVolumeClaim,
  { context }: ReflectionScope,
  present: PersistentVolumeClaim | undefined,
): string | undefined {
  // Of a claim that is there its class cannot be changed.
  return (
    present?.spec?.storageClassName ??
    metadata?.annotations?.[Annotations.remoteStorageClass] ??
    context.state.storageClass
  );
}

function isSelectedHere(claim: PersistentVolumeClaim, { context, local }: ReflectionScope): boolean {
  const labels = local.nodes.get(selectedNodeOf(claim) ?? "")?.metadata?.labels ?? {};
  return (
    labels[Labels.type] === LabelValues.virtualNodeType &&
    labels[Labels.remoteClusterID] === context.config.foreignClusterId
  );
}
