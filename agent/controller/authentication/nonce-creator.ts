import { DataKeys, Labels } from "../../api/index.js";
import { makeNonce } from "../../crypto/index.js";
import { Controller, SecretResource, TerminalError, isDeleting, keyOf } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { encodeBase64, remoteClusterOf, tenantNamespaceOf } from "./lookups.js";

/**
 * Provider. Watches Secrets labelled `liqo.io/nonce` and tenant namespaces; writes `nonce` once, never again (control plane specification,
 * §2).
 */
export function nonceCreator(area: AuthenticationArea): Controller {
  const { client, logger } = area.context;
  const { nonces, namespaces } = area.informers;
  const events = area.context.recorder("nonce-creator");

  async function reconcile(key: string): Promise<void> {
    const secret = nonces.get(key);
    if (!secret || isDeleting(secret) || secret.data?.[DataKeys.nonce]) return;
    const clusterID = remoteClusterOf(secret);
    if (!clusterID) throw new TerminalError(`Secret ${key} has no label ${Labels.remoteClusterID}`);
    const expected = tenantNamespaceOf(area, clusterID);
    const { name = "", namespace = "", resourceVersion } = secret.metadata ?? {};
    if (expected !== namespace) {
      const message = `a nonce for cluster ${clusterID} belongs into that cluster's tenant namespace (${expected ?? "there is none"})`;
      events.warning(SecretResource, secret, "WrongNamespace", message);
      throw new TerminalError(message);
    }
    const data = { [DataKeys.nonce]: encodeBase64(makeNonce()) };
    nonces.observe(
      await client.mergePatch(SecretResource, { name, namespace }, { metadata: { resourceVersion }, data }),
    );
    events.normal(SecretResource, secret, "NonceGenerated", `made a nonce for cluster ${clusterID}`);
  }

  return new Controller({ name: "nonce-creator", logger, reconcile })
    .watch(nonces)
    .watch(namespaces, ({ metadata }) => nonces.inNamespace(metadata?.name ?? "").map(keyOf));
}
