import type { Tenant } from "../../api/index.js";
import type { ConditionFinding } from "./conditions.js";
import type { PeerView } from "./peer-view.js";

export function isAuthenticationInUse({ tenants, identities, secrets }: PeerView): boolean {
  return tenants.length + identities.length + secrets.length > 0;
}

/** The conditions of the authentication module (control plane specification, §8): none for a peering by a Secret made by hand. */
export function authenticationFindings({ tenants, identities }: PeerView): ConditionFinding[] {
  const [tenant] = tenants;
  const [identity] = identities;
  return [
    ...(tenant ? [tenantFinding(tenant)] : []),
    ...(identity ? [identityFinding(Boolean(identity.status?.kubeconfigSecretRef?.name))] : []),
  ];
}

function tenantFinding({ spec, status }: Tenant): ConditionFinding {
  const needsParams = spec.authzPolicy !== "TolerateNoHandshake";
  const type = "AuthTenantStatus";
  if (status?.tenantNamespace && (status.authParams || !needsParams)) {
    return { type, status: "Ready", reason: "TenantReady", message: "the tenant is accepted" };
  }
  return {
    type,
    status: "NotReady",
    reason: "TenantNotReady",
    message: "the tenant is not accepted yet: see its events",
  };
}

function identityFinding(ready: boolean): ConditionFinding {
  const type = "AuthIdentityControlPlaneStatus";
  return ready
    ? { type, status: "Ready", reason: "IdentityReady", message: "the kubeconfig is there" }
    : {
        type,
        status: "NotReady",
        reason: "IdentityNotReady",
        message: "there is no kubeconfig yet: see the Identity's events",
      };
}
