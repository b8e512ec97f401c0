import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from "kubernetes-types/rbac/v1";
import { Labels, Names, TenantResource, clusterwideBindingName, type Tenant } from "../../api/index.js";
import {
  ClusterRoleBindingResource,
  RoleBindingResource,
  isAlreadyExists,
  ownerReference,
} from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { tenantClusterID } from "./lookups.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Lets the consumer, as User, write its replicated resources in its tenant namespace. A binding that is there is left as it is. */
export async function bindControlPlane(area: AuthenticationArea, tenant: Tenant, role: string): Promise<void> {
  const { client } = area.context;
  const { roleBindings } = area.informers;
  const { namespace = "", uid } = tenant.metadata;
  const id = { name: Names.remoteControlPlaneBinding, namespace };
  const present = roleBindings.find(namespace, id.name);
  const predecessor = present?.metadata?.ownerReferences?.find((owner) => owner.kind === "Tenant" && owner.uid !== uid);
  if (present && !predecessor) return;
  // The binding of a Tenant that is gone would be collected under us.
  if (predecessor) await client.delete(RoleBindingResource, id, { uid: present?.metadata?.uid });
  const binding: RoleBinding = {
    metadata: { ...id, labels: labelsFor(tenant), ownerReferences: [ownerReference(TenantResource, tenant, false)] },
    roleRef: clusterRole(role),
    subjects: [subject("User", tenant)],
  };
  await ignoringExisting(client.create(RoleBindingResource, binding).then((created) => roleBindings.observe(created)));
}

/** Gives the group of the consumer's slice identities what virtual nodes need cluster-wide. */
export async function bindClusterwide(area: AuthenticationArea, tenant: Tenant, role: string): Promise<void> {
  const { client } = area.context;
  const { clusterRoleBindings } = area.informers;
  const name = clusterwideBindingName(tenantClusterID(tenant));
  if (clusterRoleBindings.get(name)) return;
  const binding: ClusterRoleBinding = {
    metadata: { name, labels: labelsFor(tenant) },
    roleRef: clusterRole(role),
    subjects: [subject("Group", tenant)],
  };
  await ignoringExisting(
    client.create(ClusterRoleBindingResource, binding).then((created) => clusterRoleBindings.observe(created)),
  );
}

export async function unbindControlPlane(area: AuthenticationArea, tenant: Tenant): Promise<void> {
  const { namespace = "" } = tenant.metadata;
  await area.context.client.delete(RoleBindingResource, { name: Names.remoteControlPlaneBinding, namespace });
}

/** Only the binding that belongs to this Tenant: one made by hand for a peering without handshake is its maker's. */
export async function unbindOwnControlPlane(area: AuthenticationArea, tenant: Tenant): Promise<void> {
  const { namespace = "", uid } = tenant.metadata;
  const present = area.informers.roleBindings.find(namespace, Names.remoteControlPlaneBinding);
  if (present?.metadata?.ownerReferences?.some((owner) => owner.uid === uid)) await unbindControlPlane(area, tenant);
}

export async function unbindClusterwide(area: AuthenticationArea, tenant: Tenant): Promise<void> {
  await area.context.client.delete(ClusterRoleBindingResource, {
    name: clusterwideBindingName(tenantClusterID(tenant)),
  });
}

function labelsFor(tenant: Tenant): Record<string, string> {
  return { [Labels.appManagedBy]: "liqo", [Labels.remoteClusterID]: tenantClusterID(tenant) };
}

function clusterRole(name: string): RoleRef {
  return { apiGroup: RBAC_GROUP, kind: "ClusterRole", name };
}

function subject(kind: "User" | "Group", tenant: Tenant): Subject {
  return { apiGroup: RBAC_GROUP, kind, name: tenantClusterID(tenant) };
}

async function ignoringExisting(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
