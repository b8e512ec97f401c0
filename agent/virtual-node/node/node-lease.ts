import type { Node } from "kubernetes-types/core/v1";
import { LeaseResource, NodeResource, microTime, ownerReference, type KubeClient } from "../../runtime/index.js";
import { FIELD_MANAGER } from "../context.js";

const LEASE_NAMESPACE = "kube-node-lease";
const LEASE_SECONDS = 40;
export const LEASE_RENEW_MS = 10_000;

/** Tells the node controller that the node lives; silence for 40 s makes it Unknown. */
export async function renewNodeLease(client: KubeClient, node: Node): Promise<void> {
  const name = node.metadata?.name ?? "";
  await client.apply(
    LeaseResource,
    {
      metadata: { name, namespace: LEASE_NAMESPACE, ownerReferences: [ownerReference(NodeResource, node, false)] },
      spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTime() },
    },
    { fieldManager: FIELD_MANAGER },
  );
}
