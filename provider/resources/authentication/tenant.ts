import type { Secret } from "kubernetes-types/core/v1";
import {
  DataKeys,
  Labels,
  Names,
  TenantResource,
  type AuthParams,
  type Tenant,
  type TenantCondition,
} from "../../../agent/api/index.js";
import {
  certificateKey,
  controlPlaneSubject,
  isRequestOf,
  makeCertificateRequest,
  publicKeyDer,
  readPublicKey,
} from "../../../agent/crypto/index.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import { applyExactly } from "../../kube/apply-exactly.js";
import { latestWarning, waitFor, type Progress, type Verdict } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { Party } from "./party.js";

/** Of a Tenant that says nothing. */
const DEFAULT_CONDITION: TenantCondition = "Active";

/** What a consumer proves itself with (control plane specification, §2). All base64. */
export interface Credentials {
  publicKey: string;
  csr: string;
  signature: string;
}

/** What stands in their place where an identity was made by hand (control plane specification, §12). */
export const NO_HANDSHAKE = { authzPolicy: "TolerateNoHandshake" } as const;

export interface Grant {
  authParams: AuthParams;
  /** On the provider. */
  tenantNamespace: string;
}

/** The consumer's public key and certificate request. Its private key signs the request here and is not kept. */
export async function makeCredentials(
  progress: Progress,
  consumer: Pick<Party, "client" | "clusterId" | "agentNamespace" | "side">,
): Promise<Omit<Credentials, "signature">> {
  const id = { name: Names.authenticationKeysSecret, namespace: consumer.agentNamespace };
  const secret = await waitFor<Secret, Record<string, string>>(progress, {
    client: consumer.client,
    type: SecretResource,
    ...id,
    what: `the ${consumer.side}'s key pair (Secret ${id.namespace}/${id.name})`,
    judge: ([found]) =>
      found?.data?.[DataKeys.privateKey] && found.data[DataKeys.publicKey]
        ? { done: found.data }
        : { waiting: "the agent has not made it yet" },
  });
  const privateKey = Buffer.from(secret[DataKeys.privateKey] ?? "", "base64").toString("utf8");
  const csr = makeCertificateRequest(controlPlaneSubject(consumer.clusterId), privateKey);
  return { publicKey: secret[DataKeys.publicKey] ?? "", csr: Buffer.from(csr).toString("base64") };
}

/** The Tenant that stands for a consumer; its condition is left to whoever set it, unless asked for. */
export function tenantManifest(
  consumerId: string,
  namespace: string,
  credentials: Credentials | typeof NO_HANDSHAKE,
  options: { proxyURL?: string; tenantCondition?: TenantCondition },
  name = consumerId,
): { metadata: Tenant["metadata"]; spec: Tenant["spec"] } {
  const { proxyURL, tenantCondition } = options;
  return {
    metadata: { name, namespace, labels: { [Labels.remoteClusterID]: consumerId } },
    spec: {
      clusterID: consumerId,
      ...credentials,
      ...(proxyURL ? { proxyURL } : {}),
      ...(tenantCondition ? { tenantCondition } : {}),
    },
  };
}

/** The Tenant of a remote cluster, found by its label, whatever its name. @throws Error when there are several */
export async function findTenant(
  { client, namespace, remoteId }: Pick<Party, "client" | "namespace" | "remoteId">,
  signal: AbortSignal,
): Promise<Tenant | undefined> {
  const { items } = await client.list(TenantResource, { namespace, signal });
  const own = items.filter(
    ({ metadata, spec }) => (spec.clusterID ?? metadata.labels?.[Labels.remoteClusterID]) === remoteId,
  );
  if (own.length <= 1) return own[0];
  throw new Error(
    `cluster ${client.cluster}, namespace ${namespace}: several Tenants stand for ${remoteId} ` +
      `(${own.map(({ metadata }) => metadata.name).join(", ")}): delete all but one`,
  );
}

/**
 * The same credentials with the request that the Tenant has already, where that is for the same key and subject: an ECDSA key signs with other bytes each
 * time, and a provider that runs Liqo refuses any but the first (control plane specification, §4).
 */
function withPresentRequest(credentials: Credentials, present: Tenant | undefined, consumerId: string): Credentials {
  const csr = present?.spec.csr;
  if (!csr) return credentials;
  const pem = Buffer.from(csr, "base64").toString("utf8");
  const publicKey = Buffer.from(credentials.publicKey, "base64");
  return isRequestOf(pem, controlPlaneSubject(consumerId), publicKey) ? { ...credentials, csr } : credentials;
}

/** @returns the Tenant as it was written, and whether it is new */
export async function applyTenant(
  progress: Progress,
  provider: Party,
  credentials: Credentials | typeof NO_HANDSHAKE,
  options: { proxyURL?: string; tenantCondition?: TenantCondition },
): Promise<{ tenant: Tenant; isNew: boolean }> {
  const present = await findTenant(provider, progress.signal);
  // Left out, it would become the default one, which lets a consumer back in whom the program, or somebody, has kept out.
  const { tenantCondition: standing } = present?.spec ?? {};
  const tenantCondition = options.tenantCondition ?? (standing === DEFAULT_CONDITION ? undefined : standing);
  const wanted = { ...options, tenantCondition };
  const proof =
    "authzPolicy" in credentials ? credentials : withPresentRequest(credentials, present, provider.remoteId);
  const manifest = tenantManifest(provider.remoteId, provider.namespace, proof, wanted, present?.metadata.name);
  // Left out, what others have written would stay.
  if (present?.spec.authzPolicy === NO_HANDSHAKE.authzPolicy) manifest.spec.authzPolicy ??= "KeysExchange";
  const tenant = await applyExactly(
    provider.client,
    TenantResource,
    manifest,
    { fieldManager: MANAGER, signal: progress.signal },
    [["spec", "proxyURL"]],
  );
  return { tenant, isNew: present === undefined };
}

/**
 * Waits until the provider's agent has accepted the Tenant and signed its certificate.
 *
 * @param asked the condition that the program asks for, if it does
 */
export function waitForGrant(
  progress: Progress,
  provider: Party,
  { tenant, isNew }: Awaited<ReturnType<typeof applyTenant>>,
  asked: TenantCondition | undefined,
): Promise<Grant> {
  return waitForTenant(progress, provider, { tenant, isNew }, (current) => judgeTenant(current, asked));
}

/** Waits until the provider's agent has accepted the Tenant of an identity made by hand; gives the tenant namespace. */
export function waitForAcceptance(
  progress: Progress,
  provider: Party,
  { tenant, isNew }: Awaited<ReturnType<typeof applyTenant>>,
  asked: TenantCondition | undefined,
): Promise<string> {
  return waitForTenant(progress, provider, { tenant, isNew }, (current) => judgeAcceptance(current, asked));
}

function waitForTenant<R>(
  progress: Progress,
  provider: Party,
  { tenant, isNew }: Awaited<ReturnType<typeof applyTenant>>,
  judge: (current: Tenant | undefined) => Verdict<R>,
): Promise<R> {
  const { name = "", namespace } = tenant.metadata;
  return waitFor<Tenant, R>(progress, {
    client: provider.client,
    type: TenantResource,
    namespace,
    name,
    // One that was there tells what it was answered before.
    written: isNew ? tenant : undefined,
    what: `the acceptance of Tenant ${namespace}/${name} by the provider`,
    judge: ([current]) => judge(current),
    explain: async (signal) =>
      (await latestWarning(provider.client, provider.namespace, { kind: "Tenant", name }, signal)) ??
      explainAgent(provider, signal),
  });
}

export function judgeAcceptance(tenant: Tenant | undefined, asked?: TenantCondition): Verdict<string> {
  if (!tenant) return { failed: "it was deleted meanwhile" };
  const { tenantNamespace } = tenant.status ?? {};
  if (tenant.spec.tenantCondition === "Drained") return judgeDrained(asked, tenantNamespace);
  return tenantNamespace ? { done: tenantNamespace } : { waiting: "the agent has not answered yet" };
}

/** What was granted stays as it was, and worth nothing. */
function judgeDrained<R>(asked: TenantCondition | undefined, granted: R | undefined): Verdict<R> {
  if (asked !== "Drained")
    return { failed: "it is Drained: access is revoked (set tenantCondition to Active to give it back)" };
  if (granted !== undefined) return { done: granted };
  return { failed: "it is Drained, and was never accepted: there is no access to revoke" };
}

export function judgeTenant(tenant: Tenant | undefined, asked?: TenantCondition): Verdict<Grant> {
  if (!tenant) return { failed: "it was deleted meanwhile" };
  const { authParams, tenantNamespace } = tenant.status ?? {};
  if (tenant.spec.tenantCondition === "Drained") {
    const isKnown = authParams?.apiServer !== undefined && tenantNamespace !== undefined;
    return judgeDrained(asked, isKnown ? { authParams, tenantNamespace } : undefined);
  }
  const wanted = tenant.spec.proxyURL ?? "";
  if (!tenantNamespace || !authParams?.apiServer) return { waiting: "the agent has not answered yet" };
  if ((authParams.proxyURL ?? "") !== wanted) return { waiting: "the agent has not taken up the proxy's address yet" };
  const certificate = certificateKey(Buffer.from(authParams.signedCRT ?? "", "base64"));
  if (certificate && keyIn(tenant.spec.publicKey)?.equals(certificate) === false)
    return { waiting: "the agent has not signed a certificate for the consumer's present key yet" };
  return { done: { authParams, tenantNamespace } };
}

/** Whether a Tenant stands for the holder of another key than this one (base64 of PEM); not known to where either is missing. */
export function isOfOtherKey({ spec }: Tenant, publicKey: string | undefined): boolean {
  if (!spec.publicKey || !publicKey || spec.publicKey === publicKey) return false;
  const present = keyIn(publicKey);
  // One key may be written in two forms.
  return !present || keyIn(spec.publicKey)?.equals(present) !== true;
}

function keyIn(publicKey: string | undefined): Buffer | undefined {
  try {
    return publicKey ? publicKeyDer(readPublicKey(Buffer.from(publicKey, "base64"))) : undefined;
  } catch {
    return undefined;
  }
}
