import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import { SELECTED_NODE_ANNOTATION } from "../../agent/storage/virtual-claim.js";
import { requestedStorage } from "../../agent/storage/virtual-volume.js";

const ORIGINAL_UID = "storage.liqo.io/virtual-pvc-uid";

/** Claims of one namespace that the provider holds: the consumer's with all its volumes, and the provider's copies. */
export interface SharedClaims {
  namespace: string;
  local: readonly PersistentVolumeClaim[];
  volumes: readonly PersistentVolume[];
  remote: readonly PersistentVolumeClaim[];
}

/** What the clusters do not agree on, or has not settled, a line each. */
export function claimsDiffer({ namespace, local, volumes, remote }: SharedClaims): string[] {
  const copies = new Map(remote.map((copy) => [copy.metadata?.name, copy]));
  const names = new Set(local.map(({ metadata }) => metadata?.name));
  const uids = new Set(local.map(({ metadata }) => metadata?.uid));
  const strays = remote.filter(({ metadata }) => !names.has(metadata?.name));
  const left = volumes.filter(({ spec }) => spec?.claimRef?.namespace === namespace && !uids.has(spec.claimRef.uid));
  return [
    ...local.flatMap((claim) => claimDiffers(claim, copies.get(claim.metadata?.name)) ?? []),
    ...strays.map(({ metadata }) => `claim ${metadata?.name} is only there`),
    ...left.map(({ metadata, spec }) => `volume ${metadata?.name} is of claim ${spec?.claimRef?.name}, which has gone`),
  ];
}

function claimDiffers(claim: PersistentVolumeClaim, copy: PersistentVolumeClaim | undefined): string | undefined {
  const { name, uid, annotations = {} } = claim.metadata ?? {};
  if (!claim.spec?.volumeName) {
    if (copy) return `claim ${name} has no volume, but a copy there`;
    // Without a pod no cluster has been chosen.
    return annotations[SELECTED_NODE_ANNOTATION] === undefined ? undefined : `claim ${name} waits for its volume`;
  }
  if (!copy) return `claim ${name} is not there`;
  if (copy.status?.phase !== "Bound") return `claim ${name} is ${copy.status?.phase} there`;
  if (copy.metadata?.annotations?.[ORIGINAL_UID] !== uid) return `claim ${name} has its predecessor's copy there`;
  const [here, there] = [requestedStorage(claim), requestedStorage(copy)];
  return here === there ? undefined : `claim ${name} asks for ${here} here and ${there} there`;
}
