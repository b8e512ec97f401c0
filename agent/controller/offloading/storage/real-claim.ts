import type { NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1";
import type { StorageClass } from "kubernetes-types/storage/v1";
import { Labels, Names } from "../../../api/index.js";
import {
  SELECTED_NODE_ANNOTATION,
  isDefaultClass,
  isVirtualClass,
  selectedNodeOf,
} from "../../../storage/virtual-claim.js";

/** A label's value can be no longer; which claim is meant is told by the real claim's name. */
const LABEL_LENGTH = 63;

/** The class of this cluster that stands behind its virtual claims: the configured one, else the cluster's default. */
export function realClassOf(classes: StorageClass[], configured: string): StorageClass | undefined {
  return classes.find(
    (one) => !isVirtualClass(one) && (configured ? one.metadata?.name === configured : isDefaultClass(one)),
  );
}

/**
 * The claim in the storage namespace that holds a virtual claim's data on one of this cluster's own nodes (offloading specification, §10). It bears
 * the virtual one's UID as its name, and asks for the same.
 */
export function realClaimOf(claim: PersistentVolumeClaim, className: string): PersistentVolumeClaim {
  const { name = "", namespace = "", uid } = claim.metadata ?? {};
  const { accessModes, volumeMode, resources } = claim.spec ?? {};
  const node = selectedNodeOf(claim);
  return {
    metadata: {
      name: uid,
      namespace: Names.storageNamespace,
      labels: { [Labels.virtualPvcNamespace]: labelValue(namespace), [Labels.virtualPvcName]: labelValue(name) },
      // No pod uses it that the scheduler could choose a node for.
      ...(node ? { annotations: { [SELECTED_NODE_ANNOTATION]: node } } : {}),
    },
    spec: { accessModes, ...(volumeMode ? { volumeMode } : {}), resources, storageClassName: className },
  };
}

/** What of the real volume the virtual one mounts: everything but what binds the real one to its claim. */
export function sourceOf({ spec = {} }: PersistentVolume): Partial<NonNullable<PersistentVolume["spec"]>> {
  const source = { ...spec };
  delete source.claimRef;
  delete source.nodeAffinity;
  delete source.storageClassName;
  delete source.persistentVolumeReclaimPolicy;
  return source;
}

/** Nodes that the real volume can be used on, and never virtual ones. */
export function nodesOf({ spec }: PersistentVolume): NodeSelectorTerm[] {
  const physical = { key: Labels.type, operator: "DoesNotExist" };
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [{}];
  return terms.map((term) => ({ ...term, matchExpressions: [...(term.matchExpressions ?? []), physical] }));
}

function labelValue(text: string): string {
  return text.slice(0, LABEL_LENGTH).replace(/[^A-Za-z0-9]+$/, "");
}
