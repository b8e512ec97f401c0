import { isDeepStrictEqual } from "node:util";
import type { Namespace, Secret } from "kubernetes-types/core/v1";
import { Labels, Names, TenantResource, type Tenant } from "../../api/index.js";
import { NamespaceResource, SecretResource, type KubeObject } from "../../runtime/index.js";
import { allow, deny, type AdmissionAnswer, type AdmissionHandler, type AdmissionRequest } from "./admission.js";
import type { WebhookContext } from "./context.js";
import { whenSynced } from "./when-synced.js";

/** The labels of Liqo's that a nonce Secret has. */
const NONCE_LABELS: readonly string[] = [Labels.nonce, Labels.remoteClusterID];

/**
 * Holds a peering user (control plane specification, §18) to what peering needs. Its role says which kinds it may write into the consumer's tenant
 * namespace; this says which of them: those of its own cluster, the one Secret that asks for a nonce, and no Tenant that takes back what the
 * provider's administrator has decided. A Secret of its own making would otherwise count as an identity, whose kubeconfig this cluster would use.
 */
export function peeringUserValidator({ client, informers }: WebhookContext): AdmissionHandler {
  const namespaces = informers.for(NamespaceResource);
  return whenSynced([namespaces], async (request) => {
    const { userInfo, namespace = "" } = request;
    if (!userInfo.groups?.includes(Names.controlPlaneGroup)) return allow();
    const tenant = namespaces.get(namespace) ?? (await client.get(NamespaceResource, { name: namespace }));
    return checkPeeringUserWrite(request, tenant);
  });
}

export function checkPeeringUserWrite(request: AdmissionRequest, namespace: Namespace | undefined): AdmissionAnswer {
  const { object, oldObject, operation } = request;
  if (operation === "DELETE") return oldObject ? checkDeletion(oldObject) : allow();
  if (!object) return allow();
  const before = operation === "UPDATE" ? (oldObject ?? undefined) : undefined;
  return (
    checkMetadata(object, before, namespace?.metadata?.labels?.[Labels.remoteClusterID]) ??
    (object.kind === SecretResource.kind ? checkNonce(object as Secret, before as Secret | undefined) : undefined) ??
    (object.kind === TenantResource.kind
      ? checkDecisions(object as Tenant, before as Tenant | undefined)
      : undefined) ??
    allow()
  );
}

function checkMetadata(
  { metadata }: KubeObject,
  before: KubeObject | undefined,
  consumer: string | undefined,
): AdmissionAnswer | undefined {
  const label = metadata?.labels?.[Labels.remoteClusterID];
  if (!consumer || label !== consumer) {
    return deny(
      `metadata.labels[${Labels.remoteClusterID}]: a peering user may write "${consumer ?? ""}", the cluster of the namespace, not "${label ?? ""}"`,
    );
  }
  const finalizersOf = (object: KubeObject | undefined): string[] => object?.metadata?.finalizers ?? [];
  if (isDeepStrictEqual(finalizersOf({ metadata }), finalizersOf(before))) return undefined;
  return deny("metadata.finalizers: may not be changed by a peering user");
}

/** It asks for a nonce; what the nonce is, the provider says. */
function checkNonce(secret: Secret, before: Secret | undefined): AdmissionAnswer | undefined {
  const { name, labels = {}, annotations = {} } = secret.metadata ?? {};
  const others = [...Object.keys(labels), ...Object.keys(annotations)].filter(
    (key) => /(^|\.)liqo\.io\//.test(key) && !NONCE_LABELS.includes(key),
  );
  if (name !== Names.nonceSecret || labels[Labels.nonce] !== "true" || others.length > 0) {
    return deny(
      `a peering user may write one Secret, ${Names.nonceSecret}, labelled ${Labels.nonce}=true and ${Labels.remoteClusterID}`,
    );
  }
  if (isDeepStrictEqual(secret.data ?? {}, before?.data ?? {})) return undefined;
  return deny("data: the nonce is made by the provider");
}

function checkDecisions({ spec }: Tenant, before: Tenant | undefined): AdmissionAnswer | undefined {
  const present = before?.spec.tenantCondition ?? "Active";
  if (present !== "Active" && (spec.tenantCondition ?? "Active") !== present) {
    return deny(
      `spec.tenantCondition: the provider's administrator has set it to ${present}, and alone may change that`,
    );
  }
  const [policy, policyBefore] = [spec.authzPolicy ?? "KeysExchange", before?.spec.authzPolicy ?? "KeysExchange"];
  if (policy === policyBefore) return undefined;
  return deny("spec.authzPolicy: may not be changed by a peering user");
}

/** Deleting and making it anew would take the decision back, too. */
function checkDeletion({ kind, spec }: KubeObject & { spec?: Tenant["spec"] }): AdmissionAnswer {
  const condition = spec?.tenantCondition ?? "Active";
  if (kind !== TenantResource.kind || condition === "Active") return allow();
  return deny(
    `the provider's administrator has set this Tenant to ${condition}, and alone may delete it (kubectl delete tenant)`,
  );
}
