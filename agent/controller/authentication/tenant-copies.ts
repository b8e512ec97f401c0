import {
  Annotations,
  NamespaceMapResource,
  ResourceSliceResource,
  TenantResource,
  type Tenant,
} from "../../api/index.js";
import { isDeleting, type KubeObject, type ResourceType } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { copiesFrom, tenantClusterID } from "./lookups.js";

/** A NamespaceMap that takes longer than this to go must not keep a drained consumer's rights alive. */
const DRAIN_DEADLINE_MS = 30_000;

/** Marks or unmarks the slices of a cordoned consumer (control plane specification, §3.4). */
export async function markSlices(area: AuthenticationArea, tenant: Tenant, cordoned: boolean): Promise<void> {
  const key = Annotations.cordonTenant;
  for (const { metadata } of copiesFrom(area.informers.slices, tenantClusterID(tenant))) {
    const marked = metadata.annotations?.[key] !== undefined;
    if (marked === cordoned) continue;
    const id = { name: metadata.name ?? "", namespace: metadata.namespace };
    const patch = { metadata: { annotations: { [key]: cordoned ? "true" : null } } };
    area.informers.slices.observe(await area.context.client.mergePatch(ResourceSliceResource, id, patch));
  }
}

/** Deletes a drained consumer's NamespaceMap copies. True once they are gone, or have had their time. */
export async function deleteNamespaceMaps(area: AuthenticationArea, tenant: Tenant): Promise<boolean> {
  const copies = copiesFrom(area.informers.namespaceMaps, tenantClusterID(tenant));
  if (await deleteAll(area, NamespaceMapResource, copies)) {
    area.context
      .recorder("tenant-controller")
      .normal(TenantResource, tenant, "NamespaceMapsDeleted", `deleted ${copies.length}`);
  }
  return copies.every(({ metadata }) => {
    const since = metadata.deletionTimestamp;
    return since !== undefined && Date.now() - Date.parse(since) > DRAIN_DEADLINE_MS;
  });
}

export async function deleteSlices(area: AuthenticationArea, tenant: Tenant): Promise<void> {
  const copies = copiesFrom(area.informers.slices, tenantClusterID(tenant));
  if (await deleteAll(area, ResourceSliceResource, copies)) {
    area.context
      .recorder("tenant-controller")
      .normal(TenantResource, tenant, "ResourceSlicesDeleted", `deleted ${copies.length}`);
  }
}

/** True if anything was deleted now. */
async function deleteAll<T extends KubeObject>(
  area: AuthenticationArea,
  type: ResourceType<T>,
  objects: readonly T[],
): Promise<boolean> {
  const present = objects.filter((object) => !isDeleting(object));
  for (const { metadata } of present) {
    await area.context.client.delete(type, { name: metadata?.name ?? "", namespace: metadata?.namespace });
  }
  return present.length > 0;
}
