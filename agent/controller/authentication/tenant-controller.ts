import {
  Finalizers,
  Names,
  TenantResource,
  remoteCertificateSecretName,
  type AuthParams,
  type Tenant,
  type TenantStatus,
} from "../../api/index.js";
import {
  Controller,
  SecretResource,
  TerminalError,
  addFinalizer,
  hasFinalizer,
  isDeleting,
  keyOf,
  ownerReference,
  removeFinalizer,
  type KubeObject,
  type ReconcileResult,
  sameJson,
} from "../../runtime/index.js";
import type { AuthenticationArea } from "./area.js";
import { AuthParamsSource } from "./auth-params.js";
import { ensureCertificate } from "./issued-certificate.js";
import { isReplicationCopy, remoteClusterOf, tenantClusterID, tenantNamespaceOf } from "./lookups.js";
import {
  bindClusterwide,
  bindControlPlane,
  unbindClusterwide,
  unbindControlPlane,
  unbindOwnControlPlane,
} from "./tenant-bindings.js";
import { deleteNamespaceMaps, deleteSlices, markSlices } from "./tenant-copies.js";
import { TenantRolesSource } from "./tenant-roles.js";
import { verifyTenant } from "./tenant-verification.js";

const DRAIN_LOOK_MS = 1_000;
/** How long a drained consumer keeps its rights at most, whatever it makes anew where no webhook judges that; a restart begins once more. */
const DRAIN_LIMIT_MS = 60_000;
/** Waiting for the signer takes time; one consumer must not hold up another. */
const WORKERS = 4;

/**
 * Provider. Watches Tenants, their nonces, namespaces and bindings, and the copies that drained Tenants lose; owns the bindings and
 * `liqo-remote-certificate`; writes Tenant status and the cordon annotation of slices (control plane specification, §3).
 */
export function tenantController(area: AuthenticationArea, authParams: AuthParamsSource): Controller {
  const { client, logger } = area.context;
  const { informers } = area;
  const events = area.context.recorder("tenant-controller");
  const roles = new TenantRolesSource(client);
  /** When the draining of a Tenant, by its key, was first seen. */
  const drainedSince = new Map<string, number>();

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | void> {
    const present = informers.tenants.get(key);
    if (present?.spec.tenantCondition !== "Drained" || isDeleting(present)) drainedSince.delete(key);
    if (!present) return;
    if (isDeleting(present)) return cleanUp(present);
    refuseOwnCluster(present);
    const { controlPlane, virtualKubeletClusterwide } = await roles.get();
    const tenant = await withFinalizer(present);
    if (tenant.spec.tenantCondition === "Drained") return drain(tenant);
    await markSlices(area, tenant, tenant.spec.tenantCondition === "Cordoned");

    const handshake = tenant.spec.authzPolicy !== "TolerateNoHandshake";
    if (handshake) verify(tenant);
    const namespace = ownNamespace(tenant);
    const issued = handshake ? await issue(tenant, namespace, signal) : undefined;
    if (handshake) await bindControlPlane(area, tenant, controlPlane);
    await bindClusterwide(area, tenant, virtualKubeletClusterwide);
    await writeStatus(tenant, { tenantNamespace: namespace, ...(issued ? { authParams: issued.params } : {}) });
    return { requeueAfterMs: issued?.lookAgainMs };
  }

  /** Where no webhook has. */
  function refuseOwnCluster(tenant: Tenant): void {
    if (tenantClusterID(tenant) !== area.context.config.clusterId) return;
    const message = "spec.clusterID names this cluster itself: a Tenant stands for another one";
    events.warning(TenantResource, tenant, "OwnCluster", message);
    throw new TerminalError(message);
  }

  async function withFinalizer(tenant: Tenant): Promise<Tenant> {
    if (hasFinalizer(tenant, Finalizers.tenant)) return tenant;
    const updated = await addFinalizer(client, TenantResource, tenant, Finalizers.tenant);
    informers.tenants.observe(updated);
    return updated;
  }

  function verify(tenant: Tenant): void {
    const refusal = verifyTenant(area, tenant);
    if (!refusal) return;
    events.warning(TenantResource, tenant, refusal.reason, refusal.message);
    throw refusal.retry ? new Error(refusal.message) : new TerminalError(refusal.message);
  }

  function ownNamespace(tenant: Tenant): string {
    const clusterID = tenantClusterID(tenant);
    const namespace = tenantNamespaceOf(area, clusterID);
    if (namespace !== undefined && namespace === tenant.metadata.namespace) return namespace;
    const message = `the Tenant of cluster ${clusterID} belongs into that cluster's tenant namespace (${namespace ?? "there is none"})`;
    events.warning(TenantResource, tenant, "WrongNamespace", message);
    throw new TerminalError(message);
  }

  async function issue(
    tenant: Tenant,
    namespace: string,
    signal: AbortSignal,
  ): Promise<{ params: AuthParams; lookAgainMs: number }> {
    const order = {
      secret: { name: Names.remoteCertificateSecret, namespace },
      clusterID: tenantClusterID(tenant),
      csr: tenant.spec.csr ?? "",
      owner: ownerReference(TenantResource, tenant, false),
    };
    const { certificate, lookAgainMs } = await ensureCertificate(area.context, order, signal);
    return { params: await authParams.make(certificate, tenant.spec.proxyURL), lookAgainMs };
  }

  async function writeStatus(tenant: Tenant, status: TenantStatus): Promise<void> {
    if (sameJson(tenant.status, status)) return;
    informers.tenants.observe(await client.replaceStatus(TenantResource, { ...tenant, status }));
    tellAcceptance(tenant, status);
  }

  function tellAcceptance({ status: before, ...tenant }: Tenant, { authParams }: TenantStatus): void {
    const clusterID = tenantClusterID(tenant);
    const issued = authParams?.signedCRT;
    if (!before?.tenantNamespace) {
      events.normal(TenantResource, tenant, "TenantAccepted", `cluster ${clusterID} may ask for resources`);
    }
    if (issued && before?.authParams?.signedCRT && issued !== before.authParams.signedCRT) {
      events.normal(TenantResource, tenant, "IdentityRenewed", `cluster ${clusterID} has a new certificate`);
    }
  }

  /** The consumer sees its NamespaceMap and slices end before it loses the right to look. */
  async function drain(tenant: Tenant): Promise<ReconcileResult | void> {
    const key = keyOf(tenant);
    const since = drainedSince.get(key) ?? Date.now();
    drainedSince.set(key, since);
    const isOverdue = Date.now() - since >= DRAIN_LIMIT_MS;
    if (!(await deleteNamespaceMaps(area, tenant)) && !isOverdue) return { requeueAfterMs: DRAIN_LOOK_MS };
    await deleteSlices(area, tenant);
    await unbindClusterwide(area, tenant);
    await unbindControlPlane(area, tenant);
    events.normal(TenantResource, tenant, "ClusterRolesUnbindingSuccess", "the consumer's rights are withdrawn");
  }

  async function cleanUp(tenant: Tenant): Promise<void> {
    if (!hasFinalizer(tenant, Finalizers.tenant)) return;
    await unbindClusterwide(area, tenant);
    await unbindOwnControlPlane(area, tenant);
    const { namespace } = tenant.metadata;
    await client.delete(SecretResource, { name: remoteCertificateSecretName(), namespace });
    await removeFinalizer(client, TenantResource, tenant, Finalizers.tenant);
  }

  const byCluster = (object: KubeObject): string[] => keysOfCluster(remoteClusterOf(object));
  const byOrigin = (object: KubeObject): string[] =>
    isReplicationCopy(object) ? keysIn(object.metadata?.namespace) : [];
  return new Controller({ name: "tenant-controller", workers: WORKERS, logger, reconcile })
    .watch(informers.tenants)
    .watch(informers.nonces, byCluster)
    .watch(informers.namespaces, byCluster)
    .watch(informers.roleBindings, byCluster)
    .watch(informers.clusterRoleBindings, byCluster)
    .watch(informers.namespaceMaps, byOrigin)
    .watch(informers.slices, (slice, event) => (event.type === "updated" ? [] : byOrigin(slice)));

  function keysOfCluster(clusterID: string | undefined): string[] {
    return informers.tenants
      .list()
      .filter((tenant) => tenantClusterID(tenant) === clusterID)
      .map(keyOf);
  }

  function keysIn(namespace = ""): string[] {
    return informers.tenants.inNamespace(namespace).map(keyOf);
  }
}
