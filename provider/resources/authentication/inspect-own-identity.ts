import type { Secret } from "kubernetes-types/core/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import type { Tenant } from "../../../agent/api/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { kubeconfigSecret, ownUserBinding } from "./own-identity.js";
import { kubeconfigIn } from "./identity.js";
import { checkOwnKubeconfig, proxyOf, serverOf, throughProxy } from "./own-identity-kubeconfig.js";
import type { Parties } from "./party.js";
import type { AuthenticationInputs, AuthenticationOutputs } from "./schema.js";
import { NO_HANDSHAKE } from "./tenant.js";

/** What the clusters have of an identity that was made by hand. */
export interface PresentOwnIdentity {
  tenant: Tenant | undefined;
  /** Undefined where Secrets may not be seen. */
  secrets: Secret[] | undefined;
  binding: RoleBinding | undefined;
}

/** The inputs that describe an identity made by hand; none for a kubeconfig that a program could not give. */
export function importedOwnIdentity({
  tenant,
  secrets,
  binding,
}: PresentOwnIdentity): Partial<Pick<AuthenticationInputs, "authzPolicy" | "kubeconfig" | "userName">> {
  const kubeconfig = kubeconfigIn(secrets?.[0]);
  if (tenant?.spec.authzPolicy !== NO_HANDSHAKE.authzPolicy || kubeconfig === undefined) return {};
  try {
    checkOwnKubeconfig(kubeconfig);
  } catch {
    return {};
  }
  const userName = binding?.subjects?.find(({ kind }) => kind === "User")?.name;
  return { ...NO_HANDSHAKE, kubeconfig, ...(userName ? { userName } : {}) };
}

/** Where the clusters differ from an identity that the program brings along, line by line; the Tenant's own fields apart. */
export function ownIdentityDrift(
  { tenant, secrets, binding }: PresentOwnIdentity,
  { consumer, provider }: Parties,
  inputs: AuthenticationInputs,
  proxyURL: string | undefined,
): string[] {
  const { kubeconfig = "", userName } = inputs;
  const [secret] = secrets ?? [];
  const asGiven = <T extends object>(manifest: T): T => addObjectMetadata(manifest, inputs);
  const wanted = kubeconfigSecret(consumer, throughProxy(kubeconfig, proxyURL), provider.namespace);
  const isBound = userName !== undefined && tenant?.spec.tenantCondition !== "Drained";
  return [
    ...(tenant && tenant.spec.authzPolicy !== NO_HANDSHAKE.authzPolicy
      ? ["provider: the Tenant asks for a handshake"]
      : []),
    ...(secrets && !secret ? ["consumer: the Secret with the identity's kubeconfig is missing"] : []),
    ...deviationsOf(secret, asGiven(wanted), "consumer"),
    ...(isBound && !binding ? ["provider: the RoleBinding of the identity's user is missing"] : []),
    ...(isBound ? deviationsOf(binding, asGiven(ownUserBinding(provider, userName)), "provider") : []),
  ];
}

/** The outputs that tell of an identity made by hand. */
export function ownIdentityOutputs(
  secrets: Secret[] | undefined,
  kubeconfig: string | undefined,
  proxyURL: string | undefined,
): Pick<AuthenticationOutputs, "identityName" | "kubeconfigSecretName" | "identity" | "apiServer" | "usedProxyURL"> {
  const used = kubeconfig === undefined ? undefined : throughProxy(kubeconfig, proxyURL);
  const held = kubeconfigIn(secrets?.[0]);
  const proxy = used === undefined ? undefined : proxyOf(used);
  return {
    identityName: "",
    kubeconfigSecretName: secrets?.[0]?.metadata?.name ?? "",
    ...(held === undefined ? {} : { identity: held }),
    apiServer: used === undefined ? "" : serverOf(used),
    ...(proxy ? { usedProxyURL: proxy } : {}),
  };
}
