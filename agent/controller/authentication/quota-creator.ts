import {
  Labels,
  QuotaResource,
  ResourceSliceResource,
  isCordoned,
  resourceListsEqual,
  sliceUserName,
  type Quota,
  type ResourceSlice,
} from "../../api/index.js";
import { Controller, findCondition, isDeleting, keyOf, ownerReference, splitKey } from "../../runtime/index.js";
import { FIELD_MANAGER, type AuthenticationArea } from "./area.js";
import { isOwnedBy, isReplicationCopy } from "./lookups.js";

/**
 * Provider. Watches the copies of consumers' ResourceSlices and the Quotas made from them; owns Quota `<slice>-<12 digits>` (control plane
 * specification, §7). A slice that is denied later keeps its Quota, cordoned.
 */
export function quotaCreator(area: AuthenticationArea): Controller {
  const { client, logger, config } = area.context;
  const { slices, quotas } = area.informers;

  async function reconcile(key: string): Promise<void> {
    const slice = slices.get(key);
    if (!slice) return removeOrphans(key);
    if (!isReplicationCopy(slice) || isDeleting(slice)) return;
    const resources = findCondition(slice.status?.conditions, "Resources");
    const user = sliceUserName(slice.metadata.name ?? "", slice.spec.consumerClusterID ?? "");
    const present = quotas.find(slice.metadata.namespace ?? "", user);
    if (present && isDeleting(present)) return;
    const accepted = resources?.status === "Accepted" && slice.status?.resources !== undefined;
    if (!accepted && !(resources?.status === "Denied" && present)) return;
    const desired = quotaFor(slice, user, accepted, present);
    if (present && isUpToDate(present, desired)) return;
    quotas.observe(await client.apply(QuotaResource, desired, { fieldManager: FIELD_MANAGER }));
  }

  function quotaFor(slice: ResourceSlice, user: string, accepted: boolean, present: Quota | undefined): Quota {
    const cordoned = !accepted || isCordoned(slice.metadata.annotations);
    return QuotaResource.build({
      metadata: {
        name: user,
        namespace: slice.metadata.namespace,
        labels: { [Labels.remoteClusterID]: slice.spec.consumerClusterID ?? "" },
        ownerReferences: [ownerReference(ResourceSliceResource, slice)],
      },
      spec: {
        user,
        limitsEnforcement: config.defaultLimitsEnforcement,
        resources: (accepted ? slice.status?.resources : present?.spec.resources) ?? {},
        ...(cordoned ? { cordoned: true } : {}),
      },
    });
  }

  async function removeOrphans(key: string): Promise<void> {
    const { namespace = "", name } = splitKey(key);
    const orphans = quotas.inNamespace(namespace).filter((quota) => isOwnedBy(quota, ResourceSliceResource.kind, name));
    for (const { metadata } of orphans) {
      await client.delete(QuotaResource, { name: metadata.name ?? "", namespace }, { uid: metadata.uid });
    }
  }

  return new Controller({ name: "quota-creator", logger, reconcile })
    .watch(slices, (slice) => (isReplicationCopy(slice) ? [keyOf(slice)] : []))
    .watch(quotas, ({ metadata }) =>
      (metadata.ownerReferences ?? [])
        .filter(({ kind }) => kind === ResourceSliceResource.kind)
        .map(({ name }) => `${metadata.namespace}/${name}`),
    );
}

function isUpToDate(present: Quota, desired: Quota): boolean {
  return (
    present.spec.user === desired.spec.user &&
    present.spec.limitsEnforcement === desired.spec.limitsEnforcement &&
    Boolean(present.spec.cordoned) === Boolean(desired.spec.cordoned) &&
    resourceListsEqual(present.spec.resources, desired.spec.resources) &&
    present.metadata.ownerReferences?.[0]?.uid === desired.metadata.ownerReferences?.[0]?.uid
  );
}
