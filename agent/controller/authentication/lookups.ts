import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, type ResourceSlice, type Tenant } from "../../api/index.js";
import { TerminalError, keyOf, type Informer, type KubeObject } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";

export function remoteClusterOf(object: KubeObject): string | undefined {
  return object.metadata?.labels?.[Labels.remoteClusterID];
}

/** A source of replication: made on this cluster, for a provider. Peers can make none (webhooks/peer-writes.ts). */
export function isReplicationSource(object: KubeObject): boolean {
  const labels = object.metadata?.labels ?? {};
  return (
    labels[Labels.replication] === "true" && Boolean(labels[Labels.remoteID]) && labels[Labels.replicated] !== "true"
  );
}

/** A copy that a consumer's replicator made on this cluster. */
export function isReplicationCopy(object: KubeObject): boolean {
  const labels = object.metadata?.labels ?? {};
  return labels[Labels.replicated] === "true" && Boolean(labels[Labels.originID]);
}

/** Copies that came from one consumer, in any namespace. */
export function copiesFrom<T extends KubeObject>(informer: Informer<T>, consumerClusterID: string): T[] {
  return informer
    .list()
    .filter((object) => isReplicationCopy(object) && object.metadata?.labels?.[Labels.originID] === consumerClusterID);
}

/** The name of the cluster's tenant namespace, or undefined. Throws if several claim to be it. */
export function tenantNamespaceOf(area: AuthenticationArea, clusterID: string): string | undefined {
  const found = area.informers.namespaces.list().filter((namespace) => remoteClusterOf(namespace) === clusterID);
  return theOne(found, `tenant namespaces of cluster ${clusterID}`)?.metadata?.name;
}

/**
 * Whether an object lies in the tenant namespace of the cluster that it is labelled with. Elsewhere labels say nothing: users write their own objects as they
 * like, and consumers those of offloaded namespaces.
 */
export function isInTenantNamespace(tenantNamespaces: Informer<Namespace>, object: KubeObject): boolean {
  const clusterID = remoteClusterOf(object);
  const namespace = tenantNamespaces.get(object.metadata?.namespace ?? "");
  return clusterID !== undefined && namespace !== undefined && remoteClusterOf(namespace) === clusterID;
}

/** Whether a Secret is an identity towards a peer's control plane. A kubeconfig may name programs and files: none is used that somebody has put elsewhere. */
export function isControlPlaneIdentity(tenantNamespaces: Informer<Namespace>, secret: KubeObject): boolean {
  const isControlPlane = secret.metadata?.labels?.[Labels.identityType] === "ControlPlane";
  return isControlPlane && isInTenantNamespace(tenantNamespaces, secret);
}

/** The cluster's Tenant in its namespace, or undefined. Throws if there are several. */
export function tenantIn(area: AuthenticationArea, namespace: string, clusterID: string): Tenant | undefined {
  const found = area.informers.tenants.inNamespace(namespace).filter(({ spec }) => spec.clusterID === clusterID);
  return theOne(found, `Tenants of cluster ${clusterID}`);
}

export function tenantClusterID(tenant: Tenant): string {
  return tenant.spec.clusterID ?? remoteClusterOf(tenant) ?? "";
}

/** The slice's consumer, as its copy on the provider says. */
export function sliceConsumer(slice: ResourceSlice): string | undefined {
  return slice.spec.consumerClusterID;
}

/** The only element, or undefined when there is none. Throws a TerminalError naming all if there are several. */
export function theOne<T extends KubeObject>(objects: readonly T[], what: string): T | undefined {
  if (objects.length > 1) throw new TerminalError(`there are several ${what}: ${objects.map(keyOf).sort().join(", ")}`);
  return objects[0];
}

/** Whether the object is owned by one of this kind and name, of whatever UID: its owner may be gone already. */
export function isOwnedBy(object: KubeObject, kind: string, name: string): boolean {
  return object.metadata?.ownerReferences?.some((owner) => owner.kind === kind && owner.name === name) ?? false;
}

export function decodeBase64(text: string | undefined): Buffer {
  return Buffer.from(text ?? "", "base64");
}

export function encodeBase64(bytes: string | Uint8Array): string {
  return Buffer.from(bytes as Uint8Array).toString("base64");
}
