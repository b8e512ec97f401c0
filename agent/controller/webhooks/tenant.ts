import type { Namespace } from "kubernetes-types/core/v1";
import { Labels, TenantResource, type Tenant } from "../../api/index.js";
import { isDeleting, NamespaceResource } from "../../runtime/index.js";
import { allow, deny, labelPatch, mutate, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { AdmissionAnswer } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { whenSynced } from "./when-synced.js";

/** Adds the label by which a Tenant is found, when absent. */
export const mutateTenant: AdmissionHandler = (request) => {
  const { object } = request as AdmissionRequest<Tenant>;
  const clusterID = object?.spec?.clusterID;
  if (!object || isDeleting(object) || !clusterID || object.metadata.labels?.[Labels.remoteClusterID]) return allow();
  return mutate(labelPatch(object, { [Labels.remoteClusterID]: clusterID }));
};

/** A Tenant belongs into the tenant namespace of its cluster, one to a namespace (API specification, §12). */
export function tenantValidator({ client, informers, config }: WebhookContext): AdmissionHandler {
  const namespaces = informers.for(NamespaceResource);
  const tenants = informers.for(TenantResource);
  return whenSynced([namespaces, tenants], async (request) => {
    const { object: tenant, oldObject, operation, namespace: name = "" } = request as AdmissionRequest<Tenant>;
    if (!tenant || (isDeleting(tenant) && isOfSameCluster(tenant, oldObject))) return allow();
    if (operation === "CREATE" && tenant.spec.clusterID === config.clusterId) {
      return deny(`spec.clusterID "${config.clusterId}" is this cluster itself: a Tenant stands for another one`, 400);
    }
    const cached = namespaces.get(name);
    // A namespace may have been made, or labelled, in the same breath as the Tenant.
    const namespace =
      cached && checkNamespace(tenant, cached).allowed ? cached : await client.get(NamespaceResource, { name });
    return checkTenant(tenant, operation === "CREATE", namespace, tenants.list());
  });
}

/** What ends with a Tenant is that cluster's: one that is being deleted may end whatever has become of its namespace, but not turn into another's. */
function isOfSameCluster(tenant: Tenant, old: Tenant | null | undefined): boolean {
  const label = Labels.remoteClusterID;
  return (
    tenant.spec.clusterID === old?.spec.clusterID && tenant.metadata.labels?.[label] === old?.metadata.labels?.[label]
  );
}

export function checkTenant(
  tenant: Tenant,
  isNew: boolean,
  namespace: Namespace | undefined,
  tenants: readonly Tenant[],
): AdmissionAnswer {
  const answer = checkNamespace(tenant, namespace);
  if (!answer.allowed) return answer;
  const { name, namespace: own } = tenant.metadata;
  const others = tenants.filter((other) => other.metadata.name !== name || other.metadata.namespace !== own);
  if (isNew && others.some((other) => other.metadata.namespace === own)) {
    return deny(`namespace ${own} has a Tenant already: there is one for each consumer`);
  }
  const sameName = others.find((other) => other.metadata.name === name);
  if (sameName) return deny(`a Tenant named ${name} exists already in namespace ${sameName.metadata.namespace}`);
  return allow();
}

function checkNamespace(tenant: Tenant, namespace: Namespace | undefined): AdmissionAnswer {
  const labels = namespace?.metadata?.labels ?? {};
  const { clusterID } = tenant.spec;
  if (labels[Labels.tenantNamespace] !== "true") {
    return deny(`a Tenant must be created in a tenant namespace: one labelled ${Labels.tenantNamespace}=true`, 400);
  }
  const label = tenant.metadata.labels?.[Labels.remoteClusterID];
  if (label !== clusterID) {
    return deny(`label ${Labels.remoteClusterID} is "${label ?? ""}" but spec.clusterID is "${clusterID ?? ""}"`, 400);
  }
  if (labels[Labels.remoteClusterID] !== clusterID) {
    return deny(
      `a Tenant must have the same cluster ID of its tenant namespace: ` +
        `the namespace is for "${labels[Labels.remoteClusterID] ?? ""}", the Tenant for "${clusterID ?? ""}"`,
    );
  }
  return allow();
}
