import type { Namespace } from "kubernetes-types/core/v1";
import type { RoleBinding, Subject } from "kubernetes-types/rbac/v1";
import { Annotations, Labels, NamespaceMapResource, Names, TenantResource, type Tenant } from "../../api/index.js";
import { InstallNames } from "../../install/names.js";
import { NamespaceResource, RoleBindingResource, type KubeObject } from "../../runtime/index.js";
import {
  allow,
  deny,
  type AdmissionAnswer,
  type AdmissionHandler,
  type AdmissionRequest,
  type UserInfo,
} from "./admission.js";
import type { WebhookContext } from "./context.js";
import { whenSynced } from "./when-synced.js";

/** What makes an object a source or a copy, and whose; on a copy it never changes. */
const IDENTIFYING = [
  Labels.replication,
  Labels.replicated,
  Labels.originID,
  Labels.remoteID,
  Labels.remoteClusterID,
] as const;

/** Set by this cluster's administrator or controller. */
const CORDONS = [Annotations.cordon, Annotations.cordonTenant] as const;

/**
 * Lets a peer write copies of its own objects, and nothing that could be taken for an object of this cluster: both lie in one tenant namespace,
 * and its role cannot tell them apart. For ResourceSlices, NamespaceMaps and Renews; everybody else's writes pass.
 */
export function peerWriteValidator({ client, informers, config }: WebhookContext): AdmissionHandler {
  const namespaces = informers.for(NamespaceResource);
  const tenants = informers.for(TenantResource);
  const own = `system:serviceaccount:${config.namespace}:${InstallNames.controller}`;

  /** Asked anew each time: who is a peer is decided by the bindings, which may be a moment old. */
  async function isPeer(user: UserInfo, namespace: string): Promise<boolean> {
    if (user.username === own) return false;
    if (user.groups?.includes(Names.controlPlaneGroup)) return true;
    const { items } = await client.list(RoleBindingResource, { namespace });
    return isBoundAsPeer(user, items);
  }

  return whenSynced([namespaces, tenants], async (request) => {
    const { userInfo, namespace = "" } = request;
    if (!(await isPeer(userInfo, namespace))) return allow();
    const cached = namespaces.get(namespace);
    const tenant = cached ?? (await client.get(NamespaceResource, { name: namespace }));
    const answer = checkPeerWrite(request, tenant, config.clusterId);
    return answer.allowed ? (checkDrained(request, tenants.inNamespace(namespace)) ?? answer) : answer;
  });
}

/** Whether one of a namespace's bindings gives this user the role of a peer's control plane. */
export function isBoundAsPeer(user: UserInfo, bindings: readonly RoleBinding[]): boolean {
  return bindings.some(
    ({ roleRef, subjects }) =>
      roleRef.kind === "ClusterRole" &&
      roleRef.name === Names.remoteControlPlaneRole &&
      (subjects ?? []).some((subject) => isSubject(user, subject)),
  );
}

function isSubject({ username, groups }: UserInfo, { kind, name, namespace }: Subject): boolean {
  if (kind === "User") return username === name;
  if (kind === "Group") return groups?.includes(name) ?? false;
  return username === `system:serviceaccount:${namespace}:${name}`;
}

/** What a peer may write: copies that say whose they are. Finalizers are this cluster's business. */
export function checkPeerWrite(
  { object, oldObject, operation }: AdmissionRequest,
  namespace: Namespace | undefined,
  localClusterID: string,
): AdmissionAnswer {
  if (!object) return allow();
  const peer = namespace?.metadata?.labels?.[Labels.remoteClusterID];
  if (!peer || namespace.metadata?.labels?.[Labels.tenantNamespace] !== "true") {
    return deny(`a peer writes in its tenant namespace only: this one lacks ${Labels.tenantNamespace}=true`);
  }
  const before = operation === "UPDATE" ? oldObject : undefined;
  if (before && !isCopyOf(before, peer)) {
    return deny(`this object belongs to cluster ${localClusterID}: a peer may change its own copies only`);
  }
  return checkCopy(object, peer, localClusterID) ?? checkUnchanged(object, before ?? undefined) ?? allow();
}

/** Where access is being withdrawn nothing new comes: what is made again would be waited for anew before the rights go. */
export function checkDrained({ operation }: AdmissionRequest, tenants: readonly Tenant[]): AdmissionAnswer | undefined {
  const drained = operation === "CREATE" && tenants.find(({ spec }) => spec.tenantCondition === "Drained");
  return drained
    ? deny(`Tenant ${drained.metadata.name ?? ""} is Drained: the provider has withdrawn this cluster's access`)
    : undefined;
}

function checkCopy(object: KubeObject, peer: string, localClusterID: string): AdmissionAnswer | undefined {
  const labels = object.metadata?.labels ?? {};
  if (!isCopyOf(object, peer)) {
    return deny(
      `a peer may write copies only: they are labelled ${Labels.replicated}=true, ${Labels.replication}=false and ${Labels.originID}=${peer}`,
    );
  }
  const destination = labels[Labels.remoteID];
  if (destination !== undefined && destination !== localClusterID) {
    return deny(`label ${Labels.remoteID} is "${destination}", but this is cluster ${localClusterID}`);
  }
  if (labels[Labels.remoteClusterID] !== peer) return deny(`label ${Labels.remoteClusterID} must be "${peer}"`);
  // The map towards the peer has the peer's name: one of the peer's must not take its place.
  if (object.kind === NamespaceMapResource.kind && object.metadata?.name === peer && peer !== localClusterID) {
    return deny(`the name ${peer} is kept for this cluster's own map: a copy is named after cluster ${localClusterID}`);
  }
  return undefined;
}

function checkUnchanged(object: KubeObject, before: KubeObject | undefined): AdmissionAnswer | undefined {
  const changed = before && IDENTIFYING.find((label) => labelOf(object, label) !== labelOf(before, label));
  if (changed) return deny(`label ${changed} may not be changed by a peer`);
  const finalizers = (one: KubeObject | undefined): string => [...(one?.metadata?.finalizers ?? [])].sort().join();
  if (finalizers(object) !== finalizers(before)) return deny("metadata.finalizers may not be changed by a peer");
  const lifted =
    before && CORDONS.find((key) => object.metadata?.annotations?.[key] !== before.metadata?.annotations?.[key]);
  if (lifted) return deny(`annotation ${lifted} may not be changed by a peer`);
  return undefined;
}

function isCopyOf(object: KubeObject, peer: string): boolean {
  return (
    labelOf(object, Labels.replicated) === "true" &&
    labelOf(object, Labels.replication) !== "true" &&
    labelOf(object, Labels.originID) === peer
  );
}

function labelOf(object: KubeObject, label: string): string | undefined {
  return object.metadata?.labels?.[label];
}
