import { DataKeys, Labels } from "../../api/index.js";
import { isNonceSignature, signNonce } from "../../crypto/index.js";
import { Controller, SecretResource, TerminalError, isDeleting, keyOf } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { decodeBase64, encodeBase64, remoteClusterOf, tenantNamespaceOf } from "./lookups.js";

/**
 * Consumer. Watches Secrets labelled `liqo.io/signed-nonce`, tenant namespaces and the cluster's keys; writes `signedNonce` whenever what is
 * there is not this cluster's signature of `nonce` (control plane specification, §2).
 */
export function nonceSigner(area: AuthenticationArea): Controller {
  const { client, logger } = area.context;
  const { signedNonces, namespaces } = area.informers;
  const events = area.context.recorder("nonce-signer");

  async function reconcile(key: string): Promise<void> {
    const secret = signedNonces.get(key);
    if (!secret || isDeleting(secret)) return;
    const clusterID = remoteClusterOf(secret);
    if (!clusterID) throw new TerminalError(`Secret ${key} has no label ${Labels.remoteClusterID}`);
    const nonce = decodeBase64(secret.data?.[DataKeys.nonce]);
    if (nonce.length === 0) return;
    const { name = "", namespace = "", resourceVersion } = secret.metadata ?? {};
    if (tenantNamespaceOf(area, clusterID) !== namespace) {
      const message = `a nonce of cluster ${clusterID} is signed in that cluster's tenant namespace only`;
      events.warning(SecretResource, secret, "WrongNamespace", message);
      throw new TerminalError(message);
    }
    const keys = await area.keys.get();
    const present = decodeBase64(secret.data?.[DataKeys.signedNonce]);
    // Verified rather than compared: two ECDSA signatures of the same bytes differ.
    if (isNonceSignature(Buffer.from(keys.publicKey), nonce, present)) return;
    const data = { [DataKeys.signedNonce]: encodeBase64(signNonce(keys.privateKey, nonce)) };
    signedNonces.observe(
      await client.mergePatch(SecretResource, { name, namespace }, { metadata: { resourceVersion }, data }),
    );
    events.normal(SecretResource, secret, "NonceSigned", `signed the nonce of cluster ${clusterID}`);
  }

  return new Controller({ name: "nonce-signer", logger, reconcile })
    .watch(signedNonces)
    .watch(namespaces, ({ metadata }) => signedNonces.inNamespace(metadata?.name ?? "").map(keyOf))
    .watch(area.keys.informer, () => signedNonces.list().map(keyOf));
}
