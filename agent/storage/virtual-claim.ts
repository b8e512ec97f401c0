import type { PersistentVolumeClaim } from "kubernetes-types/core/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import { Names } from "../api/names.js";
import { PersistentVolumeClaimResource, TerminalError, type EventRecorder } from "../runtime/index.js";

/** By whom a volume is to be made; Kubernetes writes the one or the other, by its version. */
const PROVISIONER_ANNOTATIONS = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
];
/** The scheduler's choice for the first pod that uses a claim. */
export const SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node";
/** What the binder and the scheduler note on a claim; of no meaning in another cluster. */
export const BINDING_ANNOTATIONS = [
  ...PROVISIONER_ANNOTATIONS,
  SELECTED_NODE_ANNOTATION,
  "pv.kubernetes.io/bind-completed",
  "pv.kubernetes.io/bound-by-controller",
  "volume.kubernetes.io/storage-resizer",
];
const DEFAULT_CLASS_ANNOTATION = "storageclass.kubernetes.io/is-default-class";

/** Whether the volume of a claim is ours to make, in whichever cluster (offloading specification, §10). */
export function isVirtualClaim({ metadata }: PersistentVolumeClaim): boolean {
  return PROVISIONER_ANNOTATIONS.some((key) => metadata?.annotations?.[key] === Names.storageProvisioner);
}

/** A class whose claims we make the volumes of, and which therefore cannot be the real one behind such a claim. */
export function isVirtualClass({ provisioner }: StorageClass): boolean {
  return provisioner === Names.storageProvisioner;
}

export function isDefaultClass({ metadata }: StorageClass): boolean {
  return metadata?.annotations?.[DEFAULT_CLASS_ANNOTATION] === "true";
}

export function selectedNodeOf({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata?.annotations?.[SELECTED_NODE_ANNOTATION];
}

/** Fields that cannot be had from another cluster, or behind another claim; undefined if there are none. */
function refusalOf({ spec = {} }: PersistentVolumeClaim): string | undefined {
  const fields = (["selector", "dataSource", "dataSourceRef"] as const).filter((field) => spec[field] !== undefined);
  if (fields.length === 0) return undefined;
  const named = fields.map((field) => `spec.${field}`).join(", ");
  return `${named}: not possible with the provisioner ${Names.storageProvisioner}; make the claim without, or of a class of one cluster`;
}

/** @throws TerminalError when the claim asks for what no cluster can give it; told in an event on the claim */
export function refuseImpossible(claim: PersistentVolumeClaim, events: EventRecorder): void {
  const refusal = refusalOf(claim);
  if (!refusal) return;
  events.warning(PersistentVolumeClaimResource, claim, "ProvisioningFailed", refusal);
  throw new TerminalError(refusal);
}
