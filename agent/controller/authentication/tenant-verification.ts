import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, type Tenant } from "../../api/index.js";
import { checkCertificateRequest, controlPlaneSubject, isNonceSignature, readPublicKey } from "../../crypto/index.js";
import { messageOf } from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { decodeBase64, isInTenantNamespace, remoteClusterOf, tenantClusterID, theOne } from "./lookups.js";

/** Why a Tenant is not accepted; `retry` tells whether waiting may help. */
export interface Refusal {
  reason: "NonceNotFound" | "SignatureVerificationFailed" | "InvalidCSR";
  message: string;
  retry: boolean;
}

/** Checks that the Tenant comes from the holder of its key and answers our nonce (control plane specification, §3.5). */
export function verifyTenant(area: AuthenticationArea, tenant: Tenant): Refusal | undefined {
  const clusterID = tenantClusterID(tenant);
  const nonce = nonceOf(area, clusterID);
  if (!nonce) {
    return {
      reason: "NonceNotFound",
      message: `there is no nonce for cluster ${clusterID} yet: a Secret labelled liqo.io/nonce in its tenant namespace`,
      retry: true,
    };
  }
  return checkSignature(tenant, nonce) ?? checkRequest(tenant, clusterID);
}

function nonceOf({ informers }: AuthenticationArea, clusterID: string): Buffer | undefined {
  const isOfCluster = (secret: Secret): boolean =>
    remoteClusterOf(secret) === clusterID && isInTenantNamespace(informers.namespaces, secret);
  const secret = theOne<Secret>(informers.nonces.list().filter(isOfCluster), `nonce Secrets for cluster ${clusterID}`);
  const nonce = decodeBase64(secret?.data?.[DataKeys.nonce]);
  return nonce.length > 0 ? nonce : undefined;
}

function checkSignature({ spec }: Tenant, nonce: Buffer): Refusal | undefined {
  const refused = (message: string): Refusal => ({ reason: "SignatureVerificationFailed", message, retry: false });
  const publicKey = decodeBase64(spec.publicKey);
  try {
    readPublicKey(publicKey);
  } catch (error) {
    return refused(`spec.publicKey: ${messageOf(error)}`);
  }
  if (isNonceSignature(publicKey, nonce, decodeBase64(spec.signature))) return undefined;
  return refused("spec.signature is not the nonce's signature by the holder of spec.publicKey");
}

function checkRequest({ spec }: Tenant, clusterID: string): Refusal | undefined {
  try {
    const pem = decodeBase64(spec.csr).toString("utf8");
    checkCertificateRequest(pem, controlPlaneSubject(clusterID), decodeBase64(spec.publicKey));
    return undefined;
  } catch (error) {
    return { reason: "InvalidCSR", message: `spec.csr: ${messageOf(error)}`, retry: false };
  }
}
