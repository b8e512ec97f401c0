import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { PersistentVolumeClaimResource, PersistentVolumeResource, type Informer } from "../../../runtime/index.js";
import type { ControllerContext } from "../../context.js";

const BY_UID = "storage/uid";

/** All claims, which are found by their UID as well. */
export function claims({ informers }: ControllerContext): Informer<PersistentVolumeClaim> {
  return informers
    .for(PersistentVolumeClaimResource)
    .addIndex(BY_UID, ({ metadata }) => (metadata?.uid ? [metadata.uid] : []));
}

export function claimOfUid(all: Informer<PersistentVolumeClaim>, uid: string): PersistentVolumeClaim | undefined {
  return all.byIndex(BY_UID, uid)[0];
}

export function volumes({ informers }: ControllerContext): Informer<PersistentVolume> {
  return informers.for(PersistentVolumeResource);
}
