import {
  Labels,
  ResourceSliceResource,
  remoteCertificateSecretName,
  type ResourceSlice,
  type ResourceSliceCondition,
  type ResourceSliceStatus,
  type Tenant,
} from "../../api/index.js";
import { checkCertificateRequest, sliceSubject } from "../../crypto/index.js";
import {
  Controller,
  SecretResource,
  isDeleting,
  keyOf,
  messageOf,
  ownerReference,
  splitKey,
  type ReconcileResult,
  sameJson,
} from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import type { AuthParamsSource } from "./auth-params.js";
import { ensureCertificate } from "./issued-certificate.js";
import {
  copiesFrom,
  decodeBase64,
  isOwnedBy,
  isReplicationCopy,
  remoteClusterOf,
  tenantClusterID,
  tenantIn,
  tenantNamespaceOf,
} from "./lookups.js";
import { architectureChanges } from "./own-architecture.js";
import { SigningRefused } from "./signing-request.js";
import { tellSliceAnswer } from "./slice-events.js";
import { answerResources, withSliceCondition } from "./slice-grant.js";

const WORKERS = 4;

/** How the Authentication condition came out. */
interface AuthenticationOutcome {
  status: ResourceSliceStatus;
  lookAgainMs?: number;
  /** Worth another try, after the status is written. */
  failure?: Error;
}

/**
 * Provider. Watches the copies of consumers' ResourceSlices, Tenants, tenant namespaces, StorageClasses and Nodes; owns
 * `liqo-remote-certificate-<slice>`; writes the copies' status: certificate and granted resources (control plane specification, §6).
 * Denies only what was judged; what cannot be done at the moment is told in an event and tried again.
 */
export function sliceCopyController(area: AuthenticationArea, authParams: AuthParamsSource): Controller {
  const { client, logger, config } = area.context;
  const { informers } = area;
  const events = area.context.recorder("resourceslice-controller");

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | void> {
    const slice = informers.slices.get(key);
    if (!slice) return removeCertificate(key);
    if (!isReplicationCopy(slice) || isDeleting(slice) || !slice.spec.csr) return;
    const clusterID = slice.spec.consumerClusterID;
    if (!clusterID) {
      events.warning(ResourceSliceResource, slice, "MissingConsumerClusterID", "spec.consumerClusterID is missing");
      return;
    }
    const { namespace = "" } = slice.metadata;
    if (tenantNamespaceOf(area, clusterID) !== namespace) return;
    const tenant = tenantIn(area, namespace, clusterID);
    if (!tenant) {
      events.warning(ResourceSliceResource, slice, "TenantNotFound", `cluster ${clusterID} has no Tenant here yet`);
      throw new Error(`cluster ${clusterID} has no Tenant in namespace ${namespace}`);
    }

    const { status, lookAgainMs, failure } = await authenticate(slice, tenant, signal);
    const cluster = { storageClasses: informers.storageClasses.list(), nodes: informers.nodes.list() };
    const answered = answerResources(status, slice, tenant, config, cluster);
    await writeStatus(slice, answered);
    if (failure) throw failure;
    return { requeueAfterMs: lookAgainMs };
  }

  async function authenticate(
    slice: ResourceSlice,
    tenant: Tenant,
    signal: AbortSignal,
  ): Promise<AuthenticationOutcome> {
    const refusal = refusalOf(slice, tenant);
    if (refusal) {
      events.warning(ResourceSliceResource, slice, "InvalidCSR", refusal);
      return { status: denied(slice, refusal) };
    }
    try {
      const { certificate, lookAgainMs } = await ensureCertificate(area.context, orderFor(slice, tenant), signal);
      const params = await authParams.make(certificate, tenant.spec.proxyURL);
      const status = { ...slice.status, authParams: params };
      const message = "ResourceSlice authentication accepted";
      return { status: withSliceCondition(status, { type: "Authentication", accepted: true, message }), lookAgainMs };
    } catch (error) {
      // What this process's own end cut short says nothing about the slice.
      if (signal.aborted) throw error;
      const message = `no certificate could be issued: ${messageOf(error)}`;
      const failure = new Error(message, { cause: error });
      if (error instanceof SigningRefused) return { status: denied(slice, message), failure };
      events.warning(ResourceSliceResource, slice, "CertificateNotIssued", message);
      return { status: undecided(slice), failure };
    }
  }

  /** Why the slice's identity cannot be trusted, if so. */
  function refusalOf(slice: ResourceSlice, tenant: Tenant): string | undefined {
    const clusterID = tenantClusterID(tenant);
    const tolerant = tenant.spec.authzPolicy === "TolerateNoHandshake";
    if (remoteClusterOf(slice) !== clusterID) {
      return `label ${Labels.remoteClusterID} does not name cluster ${clusterID}`;
    }
    try {
      const pem = decodeBase64(slice.spec.csr).toString("utf8");
      const publicKey = tolerant ? undefined : decodeBase64(tenant.spec.publicKey);
      checkCertificateRequest(pem, sliceSubject(slice.metadata.name ?? "", clusterID), publicKey);
      return undefined;
    } catch (error) {
      return `spec.csr: ${messageOf(error)}`;
    }
  }

  function denied(slice: ResourceSlice, message: string): ResourceSliceStatus {
    const status = { ...slice.status };
    delete status.authParams;
    return withSliceCondition(status, { type: "Authentication", accepted: false, message });
  }

  /**
   * What could not be done now is no verdict: consumers give up their identity when they are denied. What was accepted stays, by the certificate
   * that is in use; a former request's denial goes, as this one has not been turned down.
   */
  function undecided({ status }: ResourceSlice): ResourceSliceStatus {
    const isDenial = (condition: ResourceSliceCondition): boolean =>
      condition.type === "Authentication" && condition.status === "Denied";
    return { ...status, conditions: status?.conditions?.filter((condition) => !isDenial(condition)) };
  }

  function orderFor(slice: ResourceSlice, tenant: Tenant): Parameters<typeof ensureCertificate>[1] {
    const { name = "", namespace = "" } = slice.metadata;
    return {
      secret: { name: remoteCertificateSecretName(name), namespace },
      clusterID: tenantClusterID(tenant),
      csr: slice.spec.csr ?? "",
      owner: ownerReference(ResourceSliceResource, slice, false),
    };
  }

  async function writeStatus(slice: ResourceSlice, status: ResourceSliceStatus): Promise<void> {
    if (sameJson(slice.status, status)) return;
    informers.slices.observe(await client.replaceStatus(ResourceSliceResource, { ...slice, status }));
    tellSliceAnswer(events, slice, status);
  }

  /** The garbage collector would do it too, a little later. */
  async function removeCertificate(key: string): Promise<void> {
    const { namespace = "", name } = splitKey(key);
    if (!informers.namespaces.get(namespace)) return;
    const id = { name: remoteCertificateSecretName(name), namespace };
    const secret = await client.get(SecretResource, id);
    if (!secret || !isOwnedBy(secret, ResourceSliceResource.kind, name)) return;
    await client.delete(SecretResource, id, { uid: secret.metadata?.uid });
  }

  const isOtherArchitecture = architectureChanges(informers.nodes);
  const copiesOf = (tenant: Tenant): string[] => copiesFrom(informers.slices, tenantClusterID(tenant)).map(keyOf);
  return new Controller({ name: "resourceslice-copy-controller", workers: WORKERS, logger, reconcile })
    .watch(informers.slices, (slice) => (isReplicationCopy(slice) ? [keyOf(slice)] : []))
    .watch(informers.tenants, copiesOf)
    .watch(informers.namespaces, ({ metadata }) => copiesIn(metadata?.name))
    .watch(informers.storageClasses, allCopies)
    .watch(informers.nodes, (_node, event) => (isOtherArchitecture(event) ? allCopies() : []));

  function allCopies(): string[] {
    return informers.slices.list().filter(isReplicationCopy).map(keyOf);
  }

  function copiesIn(namespace = ""): string[] {
    return informers.slices.inNamespace(namespace).filter(isReplicationCopy).map(keyOf);
  }
}
