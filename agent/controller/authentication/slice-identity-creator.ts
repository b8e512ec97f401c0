import {
  IdentityResource,
  Labels,
  ResourceSliceResource,
  resourceSliceIdentityName,
  type Identity,
  type ResourceSlice,
} from "../../api/index.js";
import { Controller, findCondition, isDeleting, ownerReference, splitKey, sameJson } from "../../runtime/index.js";
import { FIELD_MANAGER, type AuthenticationArea } from "./area.js";
import { isOwnedBy, isReplicationSource, remoteClusterOf } from "./lookups.js";
import { isCertificateOf, isRequestBy } from "./own-key.js";

/**
 * Consumer. Watches its own ResourceSlices and the identities made from them; owns Identity `resourceslice-<slice>`: there while the
 * provider accepts the slice's authentication (control plane specification, §6). A denial while the cluster's keys are being replaced is of the
 * former request: what the former key and certificate are good for goes on until there are new ones.
 */
export function sliceIdentityCreator(area: AuthenticationArea): Controller {
  const { client, logger } = area.context;
  const { slices, identities } = area.informers;

  async function reconcile(key: string): Promise<void> {
    const { namespace = "", name } = splitKey(key);
    const slice = slices.get(key);
    const identity = identities.find(namespace, resourceSliceIdentityName(name));
    if (!slice) return remove(identity, name);
    if (!isReplicationSource(slice) || isDeleting(slice)) return;
    const authentication = findCondition(slice.status?.conditions, "Authentication");
    if (authentication?.status === "Denied") {
      if (!(await isBetweenKeys(slice, identity))) await remove(identity, name);
      return;
    }
    if (authentication?.status !== "Accepted" || !slice.status?.authParams) return;
    if (identity && isDeleting(identity)) return;
    const desired = identityFor(slice);
    if (identity && isUpToDate(identity, desired)) return;
    identities.observe(await client.apply(IdentityResource, desired, { fieldManager: FIELD_MANAGER }));
  }

  async function isBetweenKeys({ spec }: ResourceSlice, identity: Identity | undefined): Promise<boolean> {
    const keys = await area.keys.get();
    return (
      isRequestBy(keys, spec.csr) === false || isCertificateOf(keys, identity?.spec.authParams?.signedCRT) === false
    );
  }

  async function remove(identity: Identity | undefined, sliceName: string): Promise<void> {
    if (!identity || isDeleting(identity) || !isOwnedBy(identity, ResourceSliceResource.kind, sliceName)) return;
    const { name = "", namespace, uid } = identity.metadata;
    await client.delete(IdentityResource, { name, namespace }, { uid });
  }

  return new Controller({ name: "resourceslice-identity-creator", logger, reconcile })
    .watch(slices)
    .watch(identities, ({ metadata }) => {
      const slice = metadata.labels?.[Labels.resourceSliceName];
      return slice ? [`${metadata.namespace}/${slice}`] : [];
    });
}

function identityFor(slice: ResourceSlice): Identity {
  const { name = "", namespace } = slice.metadata;
  const provider = slice.spec.providerClusterID ?? remoteClusterOf(slice) ?? "";
  return IdentityResource.build({
    metadata: {
      name: resourceSliceIdentityName(name),
      namespace,
      labels: { [Labels.remoteClusterID]: provider, [Labels.resourceSliceName]: name },
      ownerReferences: [ownerReference(ResourceSliceResource, slice)],
    },
    spec: { clusterID: provider, type: "ResourceSlice", authParams: slice.status?.authParams },
  });
}

function isUpToDate(present: Identity, desired: Identity): boolean {
  return (
    sameJson(present.spec, desired.spec) &&
    sameJson(present.metadata.labels, { ...present.metadata.labels, ...desired.metadata.labels }) &&
    present.metadata.ownerReferences?.[0]?.uid === desired.metadata.ownerReferences?.[0]?.uid
  );
}
