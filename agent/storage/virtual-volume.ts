import type { NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import { Labels } from "../api/labels.js";
import { Names } from "../api/names.js";

/** Who has made a volume: Kubernetes leaves the removal of what lies behind it to that one. */
const PROVISIONED_BY_ANNOTATION = "pv.kubernetes.io/provisioned-by";

/** What the volume of a virtual claim is made from. */
export interface VirtualVolumeInputs {
  claim: PersistentVolumeClaim;
  /** The claim's class; absent when it has been deleted meanwhile. */
  storageClass?: StorageClass;
  /** By which label values it is found. */
  labels?: Record<string, string>;
  /** What is mounted: the source, as in a volume's spec. */
  source: Partial<NonNullable<PersistentVolume["spec"]>>;
  /** What the claim behind it has; absent while that is not known. */
  capacity?: string;
  /** Nodes that the data is within reach of. */
  nodes: NodeSelectorTerm[];
}

const VOLUME_PREFIX = "pvc-";

/** The name of a claim's volume, which is also what a provisioner of Kubernetes would call it. */
export function virtualVolumeName({ metadata }: PersistentVolumeClaim): string {
  return virtualVolumeNameOf(metadata?.uid ?? "");
}

/** The same, by the claim's UID. */
export function virtualVolumeNameOf(claimUid: string): string {
  return `${VOLUME_PREFIX}${claimUid}`;
}

/** The UID of the claim that a volume of that name was made for; undefined for names of other kinds. */
export function claimUidOf(volumeName: string | undefined): string | undefined {
  return volumeName?.startsWith(VOLUME_PREFIX) ? volumeName.slice(VOLUME_PREFIX.length) : undefined;
}

export function isVirtualVolume({ metadata }: PersistentVolume): boolean {
  return metadata?.annotations?.[PROVISIONED_BY_ANNOTATION] === Names.storageProvisioner;
}

/** The volume that a virtual claim is bound to. Where it lies, later pods have to be (offloading specification, §10). */
export function virtualVolume(inputs: VirtualVolumeInputs): PersistentVolume {
  const { claim, storageClass, labels, source, capacity, nodes } = inputs;
  const { name, namespace, uid, resourceVersion } = claim.metadata ?? {};
  const { accessModes, volumeMode, storageClassName } = claim.spec ?? {};
  return {
    metadata: {
      name: virtualVolumeName(claim),
      ...(labels ? { labels } : {}),
      annotations: { [PROVISIONED_BY_ANNOTATION]: Names.storageProvisioner },
    },
    spec: {
      ...source,
      accessModes,
      ...(volumeMode ? { volumeMode } : {}),
      storageClassName,
      capacity: { storage: capacity ?? requestedStorage(claim) },
      persistentVolumeReclaimPolicy: storageClass?.reclaimPolicy ?? "Delete",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion },
      nodeAffinity: { required: { nodeSelectorTerms: nodes } },
    },
  };
}

/** The nodes that reach data which lies in another cluster: those that stand for it. */
export function volumeNodesOf(clusterID: string): NodeSelectorTerm[] {
  return [{ matchExpressions: [{ key: Labels.remoteClusterID, operator: "In", values: [clusterID] }] }];
}

/** Whether the data of a volume is in that cluster. */
export function liesWith({ spec }: PersistentVolume, clusterID: string): boolean {
  return (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).some((term) =>
    term.matchExpressions?.some(
      ({ key, operator, values }) =>
        key === Labels.remoteClusterID && operator === "In" && values?.length === 1 && values[0] === clusterID,
    ),
  );
}

/** Whether the data of a volume is in another cluster, whichever. */
export function liesWithPeer(volume: PersistentVolume): boolean {
  const clusterID = volume.metadata?.labels?.[Labels.remoteClusterID];
  return clusterID !== undefined && liesWith(volume, clusterID);
}

/** What a claim asks for, as a quantity. */
export function requestedStorage({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.["storage"] ?? "0";
}
