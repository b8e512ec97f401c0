import type { Secret } from "kubernetes-types/core/v1";
import {
  Annotations,
  DataKeys,
  IdentityResource,
  Labels,
  Names,
  kubeconfigSecretName,
  type Identity,
} from "../../api/index.js";
import { makeKubeconfig, type KeyPair } from "../../crypto/index.js";
import {
  Controller,
  SecretResource,
  TerminalError,
  isDeleting,
  keyOf,
  messageOf,
  ownerReference,
  splitKey,
  sameJson,
} from "../../runtime/index.js";
import { FIELD_MANAGER, type AuthenticationArea } from "./area.js";
import { encodeBase64, isOwnedBy } from "./lookups.js";
import { isCertificateOf } from "./own-key.js";

/**
 * Consumer. Watches Identities, their kubeconfig Secrets and the cluster's keys; owns Secret `kubeconfig-<identity>`; writes
 * `status.kubeconfigSecretRef` (control plane specification, §5). With new keys of the cluster a kubeconfig stays as it was until its certificate
 * is theirs, too: the former key and certificate still let this cluster in, the new key with the former certificate would not.
 */
export function identityController(area: AuthenticationArea): Controller {
  const { client, logger } = area.context;
  const { identities, kubeconfigs } = area.informers;
  const events = area.context.recorder("identity-controller");

  async function reconcile(key: string): Promise<void> {
    const { namespace = "", name } = splitKey(key);
    const identity = identities.get(key);
    const secret = kubeconfigs.find(namespace, kubeconfigSecretName(name));
    if (!identity) return remove(secret, name);
    if (isDeleting(identity) || !identity.spec.authParams) return;
    // Replication from an earlier peering still ends: the new Secret comes when the old one is gone.
    if (secret && isDeleting(secret)) return;
    const keys = await area.keys.get();
    refuseOthersCertificate(identity, keys);
    const desired = secretFor(identity, keys);
    if (!secret || !isUpToDate(secret, desired)) {
      kubeconfigs.observe(await client.apply(SecretResource, desired, { fieldManager: FIELD_MANAGER }));
      const [reason, what] = secret ? ["IdentityRenewed", "renewed"] : ["IdentityReady", "made"];
      events.normal(IdentityResource, identity, reason, `kubeconfig for cluster ${identity.spec.clusterID} ${what}`);
    }
    await writeStatus(identity);
  }

  function refuseOthersCertificate(identity: Identity, keys: KeyPair): void {
    if (isCertificateOf(keys, identity.spec.authParams?.signedCRT) !== false) return;
    const message =
      `spec.authParams.signedCRT was issued for another key than that in Secret ${Names.authenticationKeysSecret}: the kubeconfig stays as it is. ` +
      `Have cluster ${identity.spec.clusterID} know the new key by authenticating anew (pulumi refresh, pulumi up), or restore the former Secret`;
    events.warning(IdentityResource, identity, "CertificateOfOtherKey", message);
    throw new TerminalError(`Identity ${keyOf(identity)}: ${message}`);
  }

  function secretFor(identity: Identity, keys: KeyPair): Secret {
    const { name = "", namespace } = identity.metadata;
    const { clusterID = "", type, namespace: remoteNamespace } = identity.spec;
    const isControlPlane = type === "ControlPlane";
    return {
      metadata: {
        name: kubeconfigSecretName(name),
        namespace,
        labels: { [Labels.remoteClusterID]: clusterID, [Labels.identityType]: type ?? "" },
        annotations:
          isControlPlane && remoteNamespace ? { [Annotations.remoteTenantNamespace]: remoteNamespace } : undefined,
        ownerReferences: [ownerReference(IdentityResource, identity)],
      },
      type: "Opaque",
      data: { [DataKeys.kubeconfig]: encodeBase64(kubeconfigFor(identity, keys)) },
    };
  }

  function kubeconfigFor(identity: Identity, { privateKey }: KeyPair): string {
    const { clusterID = "", type, namespace, authParams = {} } = identity.spec;
    try {
      return makeKubeconfig({
        clusterID,
        user: identity.metadata.name ?? "",
        namespace: type === "ControlPlane" ? namespace : undefined,
        authParams,
        privateKey,
      });
    } catch (error) {
      events.warning(IdentityResource, identity, "InvalidAuthParams", `spec: ${messageOf(error)}`);
      throw new TerminalError(`Identity ${keyOf(identity)}: ${messageOf(error)}`, { cause: error });
    }
  }

  async function writeStatus(identity: Identity): Promise<void> {
    const { name = "", namespace } = identity.metadata;
    const status = { kubeconfigSecretRef: { name: kubeconfigSecretName(name) } };
    if (sameJson(identity.status, status)) return;
    identities.observe(
      await client.mergePatch(IdentityResource, { name, namespace }, { status }, { subresource: "status" }),
    );
  }

  /** The garbage collector would do it too; unpeering waits for this. */
  async function remove(secret: Secret | undefined, identityName: string): Promise<void> {
    if (!secret || isDeleting(secret) || !isOwnedBy(secret, IdentityResource.kind, identityName)) return;
    const { name = "", namespace, uid } = secret.metadata ?? {};
    await client.delete(SecretResource, { name, namespace }, { uid });
  }

  return new Controller({ name: "identity-controller", logger, reconcile })
    .watch(identities)
    .watch(kubeconfigs, ownersOf)
    .watch(area.keys.informer, () => identities.list().map(keyOf));
}

function ownersOf({ metadata }: Secret): string[] {
  const owners = metadata?.ownerReferences?.filter(({ kind }) => kind === IdentityResource.kind) ?? [];
  return owners.map(({ name }) => `${metadata?.namespace}/${name}`);
}

function isUpToDate(present: Secret, desired: Secret): boolean {
  const holds = (a: Record<string, string> = {}, b: Record<string, string> = {}): boolean =>
    sameJson(a, { ...a, ...b });
  return (
    sameJson(present.data, desired.data) &&
    holds(present.metadata?.labels, desired.metadata?.labels) &&
    holds(present.metadata?.annotations, desired.metadata?.annotations) &&
    present.metadata?.ownerReferences?.[0]?.uid === desired.metadata?.ownerReferences?.[0]?.uid
  );
}
