import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Labels, Names, type Identity, type Tenant } from "../../../agent/api/index.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import type { Pair } from "../../preconditions/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { findTenantNamespaces, namesOf, namespaceDeviations } from "../tenant-namespace/index.js";
import { findIdentity, kubeconfigIn } from "./identity.js";
import { presentProxyUrl } from "./in-band.js";
import { findNonce } from "./nonce.js";
import { findKubeconfigSecrets, findUserBinding, isByHand } from "./own-identity.js";
import {
  importedOwnIdentity,
  ownIdentityDrift,
  ownIdentityOutputs,
  type PresentOwnIdentity,
} from "./inspect-own-identity.js";
import { partiesOf, type Party } from "./party.js";
import type { AuthenticationInputs, AuthenticationOutputs } from "./schema.js";
import { ifVisible } from "../../waits/index.js";
import { findTenant, isOfOtherKey, NO_HANDSHAKE } from "./tenant.js";

export interface FoundAuthentication {
  inputs: AuthenticationInputs;
  outputs: AuthenticationOutputs;
}

/** What is there of an authentication; undefined when there is nothing of it. */
export async function inspectAuthentication(
  pair: Pair,
  inputs: AuthenticationInputs,
  isImport: boolean,
  signal: AbortSignal,
): Promise<FoundAuthentication | undefined> {
  const tenantNamespaces = await findTenantNamespaces(pair, signal);
  const namespaces = namesOf(tenantNamespaces);
  const parties = partiesOf(pair, namespaces);
  const { consumer, provider } = parties;
  const isOwnAsked = inputs.authzPolicy === NO_HANDSHAKE.authzPolicy;
  const [tenant, identity, nonce, inBandProxy, secrets, publicKey, binding] = await Promise.all([
    namespaces.provider ? findTenant(provider, signal) : undefined,
    namespaces.consumer ? findIdentity(consumer, signal) : undefined,
    namespaces.provider && !isOwnAsked ? findNonce(provider, Labels.nonce, signal) : undefined,
    namespaces.consumer && inputs.inBand ? presentProxyUrl(parties, signal) : undefined,
    namespaces.consumer ? findKubeconfigSecrets(consumer, signal) : [],
    isOwnAsked ? undefined : findPublicKey(consumer, signal),
    namespaces.provider && (isImport || inputs.userName) ? findUserBinding(provider, signal) : undefined,
  ]);
  const own: PresentOwnIdentity = { tenant, secrets: secrets?.filter(isByHand), binding };
  if (!tenant && !identity && !(isOwnAsked && own.secrets?.length)) return undefined;
  const observed = { ...inputs, ...(isImport && !identity ? importedOwnIdentity(own) : {}) };
  const condition = tenant?.spec.tenantCondition;
  if (condition && (inputs.tenantCondition ?? (isImport ? condition : undefined)) !== undefined)
    observed.tenantCondition = condition;
  if (isImport && tenant?.spec.proxyURL) observed.proxyURL = tenant.spec.proxyURL;
  // Without the network there is no address to compare with: the network's own resource tells of that.
  const wantedProxy = inputs.inBand ? (inBandProxy ?? tenant?.spec.proxyURL) : observed.proxyURL;
  // Manifests may do without a handshake, and so do imports whose kubeconfig no program can give: they are left as they are.
  const isLeft = tenant?.spec.authzPolicy === NO_HANDSHAKE.authzPolicy && !identity && (own.secrets?.length ?? 0) > 0;
  const isOwn = observed.authzPolicy === NO_HANDSHAKE.authzPolicy || isLeft;
  const drift = [
    !tenant && "provider: the Tenant is missing",
    tenant && (tenant.spec.proxyURL ?? "") !== (wantedProxy ?? "") && "provider: the Tenant names another proxy",
  ].filter((line) => typeof line === "string");
  const marks = addObjectMetadata({}, inputs);
  const changed = isImport
    ? []
    : [
        ...deviationsOf(identity, marks, "consumer"),
        ...deviationsOf(tenant, marks, "provider"),
        ...deviationsOf(nonce, marks, "provider"),
        ...(isOwnAsked ? ownIdentityDrift(own, parties, inputs, wantedProxy) : []),
        ...namespaceDeviations(tenantNamespaces, inputs),
      ];
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: pair.consumer.clusterId,
      providerClusterId: pair.provider.clusterId,
      tenantNamespaces: namespaces,
      ...(isOwn
        ? ownIdentityOutputs(own.secrets, observed.kubeconfig, wantedProxy)
        : identityOutputs(identity, secrets)),
      drift: [...drift, ...(isOwn ? [] : handshakeDrift({ tenant, identity, nonce, publicKey })), ...changed],
    },
  };
}

/** What of a handshake is missing or does not fit, line by line. */
function handshakeDrift({
  tenant,
  identity,
  nonce,
  publicKey,
}: {
  tenant: Tenant | undefined;
  identity: Identity | undefined;
  nonce: Secret | undefined;
  publicKey: string | undefined;
}): string[] {
  const granted = tenant?.status?.authParams;
  return [
    tenant && !nonce && "provider: the nonce is missing",
    tenant &&
      isOfOtherKey(tenant, publicKey) &&
      "provider: the Tenant is of another key than the consumer's present one",
    !identity && "consumer: the Identity is missing",
    identity && !identity.status?.kubeconfigSecretRef?.name && "consumer: the Identity has no kubeconfig",
    identity &&
      tenant &&
      (identity.spec.namespace ?? "") !== (tenant.status?.tenantNamespace ?? "") &&
      "consumer: the Identity names another tenant namespace",
    identity &&
      granted &&
      (identity.spec.authParams?.proxyURL ?? "") !== (granted.proxyURL ?? "") &&
      "consumer: the Identity names another proxy",
  ].filter((line) => typeof line === "string");
}

function identityOutputs(
  identity: Identity | undefined,
  secrets: Secret[] | undefined,
): Pick<AuthenticationOutputs, "identityName" | "kubeconfigSecretName" | "identity" | "apiServer" | "usedProxyURL"> {
  const { apiServer = "", proxyURL } = identity?.spec.authParams ?? {};
  const kubeconfigSecretName = identity?.status?.kubeconfigSecretRef?.name ?? "";
  const kubeconfig = kubeconfigIn(secrets?.find(({ metadata }) => metadata?.name === kubeconfigSecretName));
  return {
    identityName: identity?.metadata.name ?? "",
    kubeconfigSecretName,
    ...(kubeconfig === undefined ? {} : { identity: kubeconfig }),
    apiServer,
    ...(proxyURL ? { usedProxyURL: proxyURL } : {}),
  };
}

/** The consumer's, as its agent keeps it (base64); undefined where it may not be read. */
async function findPublicKey(
  { client, agentNamespace: namespace }: Party,
  signal: AbortSignal,
): Promise<string | undefined> {
  const secret = await ifVisible(
    client.get(SecretResource, { name: Names.authenticationKeysSecret, namespace }, signal),
  );
  return secret?.data?.[DataKeys.publicKey];
}
