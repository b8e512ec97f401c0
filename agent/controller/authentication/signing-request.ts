import type { CertificateSigningRequest } from "kubernetes-types/certificates/v1";
import { Labels, Names } from "../../api/index.js";
import {
  CertificateSigningRequestResource,
  isInvalid,
  kubeTime,
  messageOf,
  objectPath,
  type KubeClient,
} from "../../runtime/index.js";
import { decodeBase64 } from "./lookups.js";

const SIGNER = "kubernetes.io/kube-apiserver-client";
const DEADLINE_MS = 30_000;

/** The request itself was judged and turned down: the same one will not be signed later either. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
}

/**
 * Has the cluster sign a request for a client certificate: makes a CertificateSigningRequest, approves it, waits for the signer (at most 30
 * seconds) and removes it again, so that nothing is left behind (control plane specification, §4). What a killed process leaves, the next one
 * removes (leftover-requests.ts).
 *
 * @param request the PEM request, as base64
 * @returns the certificate, PEM
 * @throws SigningRefused when it is turned down; any other error says that it could not be signed now
 */
export async function signCertificate(
  client: KubeClient,
  request: string,
  labels: Record<string, string>,
  signal?: AbortSignal,
): Promise<Buffer> {
  const created = await create(client, request, labels, signal);
  const name = created.metadata?.name ?? "";
  try {
    const approved = await approve(client, created, signal);
    return await waitForCertificate(client, approved, signal);
  } finally {
    await client.delete(CertificateSigningRequestResource, { name }).catch(() => undefined);
  }
}

async function create(
  client: KubeClient,
  request: string,
  labels: Record<string, string>,
  signal?: AbortSignal,
): Promise<CertificateSigningRequest> {
  try {
    return await client.create(
      CertificateSigningRequestResource,
      {
        metadata: { generateName: Names.identityCSRPrefix, labels: { ...labels, [Labels.remoteTenantCSR]: "true" } },
        spec: {
          request,
          signerName: SIGNER,
          usages: ["digital signature", "key encipherment", "client auth"],
          groups: ["system:authenticated"],
        },
      },
      { signal },
    );
  } catch (error) {
    // The API server reads the request, and checks what it is signed with.
    if (isInvalid(error)) throw new SigningRefused(messageOf(error), { cause: error });
    throw error;
  }
}

function approve(
  client: KubeClient,
  request: CertificateSigningRequest,
  signal?: AbortSignal,
): Promise<CertificateSigningRequest> {
  const name = request.metadata?.name ?? "";
  const condition = {
    type: "Approved",
    status: "True",
    reason: "IdentityManagerApproval",
    message: "approved for the identity of a verified consumer",
    lastUpdateTime: kubeTime(),
  };
  return client.request("PUT", objectPath(CertificateSigningRequestResource, { name }, "approval"), {
    subject: `CertificateSigningRequest ${name}`,
    body: { ...request, status: { conditions: [condition] } },
    signal,
  });
}

async function waitForCertificate(
  client: KubeClient,
  request: CertificateSigningRequest,
  signal?: AbortSignal,
): Promise<Buffer> {
  const { name = "", resourceVersion } = request.metadata ?? {};
  const present = outcome(request);
  if (present) return present;
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const events = client.watch(CertificateSigningRequestResource, {
    fieldSelector: `metadata.name=${name}`,
    resourceVersion,
    signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  });
  for await (const event of events) {
    if (event.type === "ERROR")
      throw new Error(`CertificateSigningRequest ${name}: ${event.object.message ?? "the watch failed"}`);
    if (event.type === "DELETED") throw new Error(`CertificateSigningRequest ${name} was deleted before it was signed`);
    const certificate = outcome(event.object);
    if (certificate) return certificate;
  }
  throw new Error(
    `cluster ${client.cluster}: CertificateSigningRequest ${name} was not signed within ${DEADLINE_MS / 1000} s: is a signer for ${SIGNER} running (kube-controller-manager)?`,
  );
}

/** The certificate if it is there. @throws SigningRefused if there will never be one */
function outcome(request: CertificateSigningRequest): Buffer | undefined {
  const refused = request.status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  if (refused) {
    throw new SigningRefused(
      `CertificateSigningRequest ${request.metadata?.name}: ${refused.type}: ${refused.message ?? refused.reason ?? "no reason given"}`,
    );
  }
  const { certificate } = request.status ?? {};
  return certificate ? decodeBase64(certificate) : undefined;
}
