import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { Labels, Names } from "../../../api/index.js";
import {
  Controller,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  isDeleting,
} from "../../../runtime/index.js";
import { isVirtualVolume } from "../../../storage/virtual-volume.js";
import type { ControllerContext } from "../../context.js";
import { claimOfUid, claims as claimsOf, volumes as volumesOf } from "./informers.js";

const VOLUME_PREFIX = "pvc-";

/**
 * On the consumer. Watches virtual claims, their volumes and the real claims. Deletes the volume of a claim that has gone, if its class says so, and
 * the real claim with it; a volume that is to be retained keeps its real claim until somebody deletes the volume. Keyed by the virtual
 * claim's UID. What lies with a provider goes through that provider's virtual node.
 */
export function releasedVolumeController(context: ControllerContext): Controller {
  const { client, logger } = context;
  const claims = claimsOf(context);
  const volumes = volumesOf(context);

  async function reconcile(uid: string): Promise<void> {
    if (claimOfUid(claims, uid)) return;
    const named = volumes.get(`${VOLUME_PREFIX}${uid}`);
    // Others' provisioners call their volumes the same.
    const volume = named && isVirtualVolume(named) ? named : undefined;
    if (volume && !isReleased(volume)) return;
    const real = claims.find(Names.storageNamespace, uid);
    if (real && !isDeleting(real)) await remove(real);
    if (!volume || isDeleting(volume)) return;
    const { name = "", uid: volumeUid } = volume.metadata ?? {};
    await client.delete(PersistentVolumeResource, { name }, { uid: volumeUid });
    logger.info({ volume: name, claim: volume.spec?.claimRef?.name }, "volume of a claim that has gone removed");
  }

  async function remove({ metadata }: PersistentVolumeClaim): Promise<void> {
    const { name = "", namespace, uid } = metadata ?? {};
    await client.delete(PersistentVolumeClaimResource, { name, namespace }, { uid });
  }

  return new Controller({ name: "released-volumes", reconcile, logger }).watch(claims, uidsOf).watch(volumes, uidOf);
}

/** Of a virtual claim its own; of a real claim the one that it is named after. */
function uidsOf({ metadata }: PersistentVolumeClaim): string[] {
  const isReal = metadata?.namespace === Names.storageNamespace && metadata.labels?.[Labels.virtualPvcName];
  const uid = isReal ? metadata.name : metadata?.uid;
  return uid ? [uid] : [];
}

function uidOf(volume: PersistentVolume): string[] {
  const uid = volume.spec?.claimRef?.uid;
  return isVirtualVolume(volume) && uid ? [uid] : [];
}

/** The claim has gone, and the data is to go with it. */
function isReleased(volume: PersistentVolume): boolean {
  return volume.status?.phase === "Released" && volume.spec?.persistentVolumeReclaimPolicy === "Delete";
}
