import {
  RenewResource,
  remoteCertificateSecretName,
  type AuthParams,
  type Renew,
  type Tenant,
} from "../../api/index.js";
import { checkCertificateRequest, controlPlaneSubject, sliceSubject } from "../../crypto/index.js";
import {
  Controller,
  TerminalError,
  isDeleting,
  keyOf,
  messageOf,
  ownerReference,
  sameJson,
} from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import type { AuthParamsSource } from "./auth-params.js";
import { ensureCertificate } from "./issued-certificate.js";
import { decodeBase64, isReplicationCopy, tenantIn, tenantNamespaceOf } from "./lookups.js";

/**
 * Provider. Watches the copies of consumers' Renews, and Tenants; writes the copies' status: the certificate that the Tenant's status holds,
 * which is renewed there, or an answer to the request that consumers up to Liqo 1.1 put into their Renews (control plane specification, §10).
 */
export function renewCopyController(area: AuthenticationArea, authParams: AuthParamsSource): Controller {
  const { client, logger } = area.context;
  const { renews, tenants } = area.informers;
  const events = area.context.recorder("renew-controller");

  async function reconcile(key: string, signal: AbortSignal): Promise<void> {
    const renew = renews.get(key);
    if (!renew || !isReplicationCopy(renew) || isDeleting(renew)) return;
    const { namespace = "" } = renew.metadata;
    const clusterID = renew.spec.consumerClusterID ?? "";
    if (tenantNamespaceOf(area, clusterID) !== namespace) return;
    const tenant = tenantIn(area, namespace, clusterID);
    // A drained tenant gets nothing new; a missing one is looked at again when it comes.
    if (!tenant || tenant.spec.tenantCondition === "Drained") return;
    const params = await answer(renew, tenant, clusterID, signal);
    if (!params || sameJson(renew.status?.authParams, params)) return;
    renews.observe(await client.replaceStatus(RenewResource, { ...renew, status: { authParams: params } }));
  }

  async function answer(
    renew: Renew,
    tenant: Tenant,
    clusterID: string,
    signal: AbortSignal,
  ): Promise<AuthParams | undefined> {
    if (renew.spec.csr) return sign(renew, tenant, clusterID, signal);
    return renew.spec.identityType === "ControlPlane" ? tenant.status?.authParams : undefined;
  }

  async function sign(renew: Renew, tenant: Tenant, clusterID: string, signal: AbortSignal): Promise<AuthParams> {
    const slice = renew.spec.identityType === "ResourceSlice" ? renew.spec.resourceSliceRef?.name : undefined;
    const subject = slice ? sliceSubject(slice, clusterID) : controlPlaneSubject(clusterID);
    try {
      const pem = decodeBase64(renew.spec.csr).toString("utf8");
      checkCertificateRequest(pem, subject, decodeBase64(tenant.spec.publicKey));
    } catch (error) {
      const message = `spec.csr: ${messageOf(error)}`;
      events.warning(RenewResource, renew, "InvalidCSR", message);
      throw new TerminalError(message, { cause: error });
    }
    // A Secret of its own, so that the answer outlives a restart and the Tenant's or slice's stays as it is.
    const name = `${remoteCertificateSecretName()}-renew-${renew.metadata.name}`;
    const order = {
      secret: { name, namespace: renew.metadata.namespace ?? "" },
      clusterID,
      csr: renew.spec.csr ?? "",
      owner: ownerReference(RenewResource, renew, false),
    };
    const { certificate } = await ensureCertificate(area.context, order, signal);
    return authParams.make(certificate, tenant.spec.proxyURL);
  }

  return new Controller({ name: "renew-copy-controller", logger, reconcile })
    .watch(renews, (renew) => (isReplicationCopy(renew) ? [keyOf(renew)] : []))
    .watch(tenants, ({ metadata }) => renews.inNamespace(metadata.namespace ?? "").map(keyOf));
}
