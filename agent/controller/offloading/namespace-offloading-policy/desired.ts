import { createHash } from "node:crypto";
import {
  Labels,
  Names,
  NamespaceOffloadingPolicyResource,
  type NamespaceOffloading,
  type NamespaceOffloadingPolicy,
} from "../../../api/index.js";
import { nonBlockingOwnerReference, sameJson, type DeepPartial } from "../../../runtime/index.js";

/**
 * Which labels and annotations a NamespaceOffloading has been given. What a template has lost since shows by nothing else: others that are there may be
 * anyone's.
 */
export const TEMPLATE_ANNOTATION = "offloading.liqo.io/applied-template";

/** The NamespaceOffloading that a policy wants in a namespace. All that users may change in one is named, so that nothing but the template counts. */
export function offloadingOf(policy: NamespaceOffloadingPolicy, namespace: string): DeepPartial<NamespaceOffloading> {
  const { metadata = {}, spec } = policy.spec.template;
  return {
    metadata: {
      name: Names.namespaceOffloading,
      namespace,
      labels: { ...metadata.labels, [Labels.offloadingPolicy]: policy.metadata.name ?? "" },
      annotations: { ...metadata.annotations, [TEMPLATE_ANNOTATION]: digestOf(metadata) },
      ownerReferences: [nonBlockingOwnerReference(NamespaceOffloadingPolicyResource, policy)],
    },
    spec: {
      namespaceMappingStrategy: spec.namespaceMappingStrategy ?? "DefaultName",
      podOffloadingStrategy: spec.podOffloadingStrategy ?? "LocalAndRemote",
      // No terms: all clusters.
      clusterSelector: spec.clusterSelector ?? { nodeSelectorTerms: [] },
    },
  };
}

/** Whether a NamespaceOffloading has all that is wanted. Of what it has beside that nothing is said. */
export function isAsDesired(
  { metadata, spec }: NamespaceOffloading,
  desired: DeepPartial<NamespaceOffloading>,
): boolean {
  return (
    sameJson({ ...spec, ...desired.spec }, spec) &&
    sameJson({ ...metadata.labels, ...desired.metadata?.labels }, metadata.labels ?? {}) &&
    sameJson({ ...metadata.annotations, ...desired.metadata?.annotations }, metadata.annotations ?? {}) &&
    (desired.metadata?.ownerReferences ?? []).every(({ uid }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  );
}

function digestOf(metadata: object): string {
  return createHash("sha256").update(JSON.stringify(metadata)).digest("hex").slice(0, 16);
}
