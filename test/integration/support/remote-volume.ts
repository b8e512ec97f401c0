import type { PersistentVolume } from "kubernetes-types/core/v1";
import { Labels } from "../../../agent/api/index.js";
import { virtualVolume, volumeNodesOf } from "../../../agent/storage/virtual-volume.js";

/** The volume of a claim whose data is with a provider, as that provider's virtual node makes it. */
export function remoteVolume(
  claim: { name: string; namespace: string; uid?: string },
  clusterID: string,
): PersistentVolume {
  return virtualVolume({
    claim: {
      metadata: { uid: "7d1f4b7e-3c44-4a4b-9f0e-0c2a4f1d5a11", ...claim },
      spec: { accessModes: ["ReadWriteOnce"], storageClassName: "liqo" },
    },
    labels: { [Labels.remoteClusterID]: clusterID },
    source: { hostPath: { path: "/tmp/liqo-placeholder" } },
    capacity: "1Gi",
    nodes: volumeNodesOf(clusterID),
  });
}
