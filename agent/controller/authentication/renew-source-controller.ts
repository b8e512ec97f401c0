import {
  IdentityResource,
  Labels,
  RenewResource,
  type AuthParams,
  type Identity,
  type Renew,
} from "../../api/index.js";
import { validityOf } from "../../crypto/index.js";
import { Controller, isDeleting, keyOf, ownerReference } from "../../runtime/index.js";
import { FIELD_MANAGER, type AuthenticationArea } from "./area.js";
import { decodeBase64, isOwnedBy } from "./lookups.js";
import { isCertificateOf } from "./own-key.js";

/**
 * Consumer. Watches ControlPlane Identities and their Renews; owns one Renew per Identity, which is replicated; writes the certificate that
 * comes back in its status into the Identity (control plane specification, §10).
 */
export function renewSourceController(area: AuthenticationArea): Controller {
  const { client, logger, config } = area.context;
  const { identities, renews } = area.informers;

  async function reconcile(key: string): Promise<void> {
    const identity = identities.get(key);
    const renew = renews.get(key);
    if (!identity) return remove(renew);
    if (identity.spec.type !== "ControlPlane" || isDeleting(identity) || !identity.spec.authParams?.signedCRT) return;
    if (renew && isDeleting(renew)) return;
    const owner = ownerReference(IdentityResource, identity);
    if (renew?.metadata.ownerReferences?.[0]?.uid !== owner.uid) {
      renews.observe(await client.apply(RenewResource, renewFor(identity), { fieldManager: FIELD_MANAGER }));
      return;
    }
    const renewed = renew.status?.authParams;
    if (
      renewed &&
      (isNewer(renewed, identity.spec.authParams) || (await isOfPresentKey(renewed, identity.spec.authParams)))
    )
      await adopt(identity, renewed);
  }

  /** With new keys of this cluster, only a certificate for these is of use, whenever it was issued. */
  async function isOfPresentKey(candidate: AuthParams, present: AuthParams): Promise<boolean> {
    const keys = await area.keys.get();
    return isCertificateOf(keys, present.signedCRT) === false && isCertificateOf(keys, candidate.signedCRT) === true;
  }

  function renewFor(identity: Identity): Renew {
    const provider = identity.spec.clusterID ?? "";
    const { name, namespace } = identity.metadata;
    return RenewResource.build({
      metadata: {
        name,
        namespace,
        labels: {
          [Labels.replication]: "true",
          [Labels.remoteID]: provider,
          [Labels.remoteClusterID]: provider,
        },
        ownerReferences: [ownerReference(IdentityResource, identity)],
      },
      spec: { consumerClusterID: config.clusterId, identityType: "ControlPlane" },
    });
  }

  async function adopt(identity: Identity, authParams: AuthParams): Promise<void> {
    const { name = "", namespace, resourceVersion } = identity.metadata;
    const patch = { metadata: { resourceVersion }, spec: { authParams } };
    identities.observe(await client.mergePatch(IdentityResource, { name, namespace }, patch));
    logger.info({ cluster: identity.spec.clusterID, identity: name }, "adopted a renewed certificate");
  }

  async function remove(renew: Renew | undefined): Promise<void> {
    if (!renew || isDeleting(renew)) return;
    const { name = "", namespace, uid } = renew.metadata;
    if (!isOwnedBy(renew, IdentityResource.kind, name)) return;
    await client.delete(RenewResource, { name, namespace }, { uid });
  }

  return new Controller({ name: "renew-source-controller", logger, reconcile })
    .watch(identities)
    .watch(renews, (renew) => (renew.metadata.labels?.[Labels.replication] === "true" ? [keyOf(renew)] : []));
}

/** A certificate issued later; not one that runs out later, as none outlives the provider's authority. */
function isNewer(candidate: AuthParams, present: AuthParams): boolean {
  if (!candidate.signedCRT || candidate.signedCRT === present.signedCRT) return false;
  const offered = validityOf(decodeBase64(candidate.signedCRT));
  const used = validityOf(decodeBase64(present.signedCRT));
  return offered !== undefined && (used === undefined || offered.notBefore > used.notBefore);
}
