import {
  asksForVirtualNode,
  IdentityResource,
  Labels,
  ResourceSliceResource,
  VirtualNodeResource,
  type Identity,
  type ResourceSlice,
  type VirtualNode,
} from "../../api/index.js";
import { Controller, findCondition, isDeleting, keyOf, ownerReference, splitKey } from "../../runtime/index.js";
import type { DeepPartial } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { FIELD_MANAGER } from "./field-manager.js";
import { offeredLabels, type OfferedLabels } from "./offered-labels.js";

/** An event's message has its limit, and the keys are a stranger's. */
const NAMED_LABELS_LENGTH = 500;

/**
 * Watches ResourceSlices, their Identities and VirtualNodes. Owns the VirtualNode of each accepted source slice that asks for one: what the
 * provider granted is applied to it at once, what others set in it stays (control plane specification, §11).
 */
export function virtualNodeCreator(context: ControllerContext): Controller {
  const { client, informers, logger } = context;
  const slices = informers.for(ResourceSliceResource);
  const identities = informers.for(IdentityResource);
  const virtualNodes = informers.for(VirtualNodeResource);
  const events = context.recorder("virtual-node-creator");

  async function reconcile(key: string): Promise<void> {
    const slice = slices.get(key);
    const { namespace = "" } = splitKey(key);
    if (!slice || !isReadyForVirtualNode(slice)) return;
    const identity = identities
      .inNamespace(namespace)
      .find(({ metadata }) => metadata.labels?.[Labels.resourceSliceName] === slice.metadata.name);
    const present = virtualNodes.get(key);
    // One that is being deleted drains first; its end brings us here again.
    if (!identity?.status?.kubeconfigSecretRef?.name || (present && isDeleting(present))) return;
    const labels = offeredLabels(slice.status?.nodeLabels);
    tellOfRefusedLabels(slice, labels);
    const desired = virtualNodeOf(slice, identity, labels);
    virtualNodes.observe(await client.apply(VirtualNodeResource, desired, { fieldManager: FIELD_MANAGER }));
  }

  function tellOfRefusedLabels(slice: ResourceSlice, { refused }: OfferedLabels): void {
    if (refused.length === 0) return;
    const keys = refused
      .map((key) => JSON.stringify(key))
      .join(", ")
      .slice(0, NAMED_LABELS_LENGTH);
    const message = `status.nodeLabels: left out, as no provider may set them on a node here: ${keys}`;
    events.warning(ResourceSliceResource, slice, "LabelsRefused", message);
  }

  return new Controller({ name: "virtual-node-creator", reconcile, logger })
    .watch(slices)
    .watch(identities, ({ metadata }) => {
      const slice = metadata.labels?.[Labels.resourceSliceName];
      return slice ? [`${metadata.namespace ?? ""}/${slice}`] : [];
    })
    .watch(virtualNodes, (virtualNode, { type }) => (type === "deleted" ? [keyOf(virtualNode)] : []));
}

export function isReadyForVirtualNode(slice: ResourceSlice): boolean {
  const { labels, annotations } = slice.metadata;
  const isSource = labels?.[Labels.replicated] !== "true" && Boolean(labels?.[Labels.remoteClusterID]);
  return (
    isSource &&
    !isDeleting(slice) &&
    asksForVirtualNode(annotations) &&
    (["Authentication", "Resources"] as const).every(
      (type) => findCondition(slice.status?.conditions, type)?.status === "Accepted",
    )
  );
}

/** The fields that follow the slice. Everything else in the VirtualNode is its user's. */
export function virtualNodeOf(
  slice: ResourceSlice,
  identity: Identity,
  { accepted }: OfferedLabels = offeredLabels(slice.status?.nodeLabels),
): DeepPartial<VirtualNode> {
  const { name = "", namespace, labels } = slice.metadata;
  const clusterID = labels?.[Labels.remoteClusterID] ?? "";
  const status = slice.status ?? {};
  const nodeSelector =
    status.nodeSelector && Object.keys(status.nodeSelector).length > 0 ? status.nodeSelector : undefined;
  return {
    metadata: {
      name,
      namespace,
      labels: { [Labels.remoteClusterID]: clusterID, [Labels.resourceSliceName]: name },
      ownerReferences: [ownerReference(ResourceSliceResource, slice)],
    },
    spec: {
      clusterID,
      kubeconfigSecretRef: { name: identity.status?.kubeconfigSecretRef?.name },
      resourceQuota: { hard: status.resources ?? {} },
      labels: { ...accepted, [Labels.remoteClusterID]: clusterID },
      storageClasses: status.storageClasses ?? [],
      ingressClasses: status.ingressClasses ?? [],
      loadBalancerClasses: status.loadBalancerClasses ?? [],
      ...(nodeSelector ? { offloadingPatch: { nodeSelector } } : {}),
    },
  };
}
