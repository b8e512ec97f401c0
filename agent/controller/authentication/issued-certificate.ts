import type { OwnerReference } from "kubernetes-types/meta/v1";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Labels } from "../../api/index.js";
import {
  certificateKey,
  isRenewalDue,
  readCertificateRequest,
  untilRenewal,
  validityOf,
  type Validity,
} from "../../crypto/index.js";
import { SecretResource, messageOf, sameJson } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";
import { FIELD_MANAGER } from "./area.js";
import { decodeBase64, encodeBase64 } from "./lookups.js";
import { signCertificate } from "./signing-request.js";

export interface CertificateOrder {
  /** Where the answer is kept: `liqo-remote-certificate…` in the tenant namespace. */
  secret: { name: string; namespace: string };
  /** The consumer. */
  clusterID: string;
  /** The PEM request as base64, already checked. */
  csr: string;
  /** Takes the Secret with it. */
  owner: OwnerReference;
}

export interface IssuedCertificate {
  /** PEM, as base64. */
  certificate: string;
  /** Milliseconds until renewal should be considered. */
  lookAgainMs: number;
}

const RETRY_RENEWAL_MS = 60_000;

/**
 * The certificate for a request: the stored one while it answers this very request and is not due for renewal, else a new one, which is
 * stored (control plane specification, §4). A request that differs but was found valid is answered anew.
 */
export async function ensureCertificate(
  { client, logger }: ControllerContext,
  order: CertificateOrder,
  signal?: AbortSignal,
): Promise<IssuedCertificate> {
  const secret = await client.get(SecretResource, order.secret, signal);
  const stored = storedAnswer(secret, order.csr);
  if (stored && !isRenewalDue(stored.validity)) {
    if (!sameOwner(secret, order.owner)) await store(client, order, stored.certificate);
    return { certificate: stored.certificate, lookAgainMs: untilRenewal(stored.validity) };
  }
  try {
    const pem = await signCertificate(client, order.csr, { [Labels.remoteClusterID]: order.clusterID }, signal);
    const certificate = encodeBase64(pem);
    await store(client, order, certificate);
    const validity = validityOf(pem);
    logger.info({ cluster: order.clusterID, secret: order.secret.name }, "issued a certificate");
    return { certificate, lookAgainMs: validity ? untilRenewal(validity) : RETRY_RENEWAL_MS };
  } catch (error) {
    if (!stored || stored.validity.notAfter <= Date.now()) throw error;
    // The old one still works: better than none while the signer is away.
    logger.warn({ cluster: order.clusterID, reason: messageOf(error) }, "certificate not renewed, will retry");
    return { certificate: stored.certificate, lookAgainMs: RETRY_RENEWAL_MS };
  }
}

/** The stored certificate if it was issued for this request and its key. */
function storedAnswer(
  secret: Secret | undefined,
  csr: string,
): { certificate: string; validity: Validity } | undefined {
  const certificate = secret?.data?.[DataKeys.certificate];
  if (!certificate || secret.data?.[DataKeys.csr] !== csr) return undefined;
  const pem = decodeBase64(certificate);
  const validity = validityOf(pem);
  const { publicKey } = readCertificateRequest(decodeBase64(csr).toString("utf8"));
  return validity && certificateKey(pem)?.equals(publicKey) ? { certificate, validity } : undefined;
}

function sameOwner(secret: Secret | undefined, owner: OwnerReference): boolean {
  return sameJson(
    secret?.metadata?.ownerReferences?.map(({ uid }) => uid),
    [owner.uid],
  );
}

async function store(client: ControllerContext["client"], order: CertificateOrder, certificate: string): Promise<void> {
  await client.apply(
    SecretResource,
    {
      metadata: {
        ...order.secret,
        labels: { [Labels.remoteClusterID]: order.clusterID },
        ownerReferences: [order.owner],
      },
      type: "Opaque",
      data: { [DataKeys.csr]: order.csr, [DataKeys.certificate]: certificate },
    },
    { fieldManager: FIELD_MANAGER },
  );
}
