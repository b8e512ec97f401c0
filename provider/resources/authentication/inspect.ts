import { DataKeys, Labels, Names } from "../../../agent/api/index.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import type { Pair } from "../../preconditions/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { findTenantNamespaces, namesOf, namespaceDeviations } from "../tenant-namespace/index.js";
import { findIdentity } from "./identity.js";
import { presentProxyUrl } from "./in-band.js";
import { findNonce } from "./nonce.js";
import { partiesOf, type Party } from "./party.js";
import type { AuthenticationInputs, AuthenticationOutputs } from "./schema.js";
import { ifVisible } from "../../waits/index.js";
import { findTenant, isOfOtherKey } from "./tenant.js";

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
  const [tenant, identity, nonce, inBandProxy, ownSecret, publicKey] = await Promise.all([
    namespaces.provider ? findTenant(provider, signal) : undefined,
    namespaces.consumer ? findIdentity(consumer, signal) : undefined,
    namespaces.provider ? findNonce(provider, Labels.nonce, signal) : undefined,
    namespaces.consumer && inputs.inBand ? presentProxyUrl(parties, signal) : undefined,
    namespaces.consumer ? findOwnKubeconfig(consumer, signal) : undefined,
    findPublicKey(consumer, signal),
  ]);
  if (!tenant && !identity) return undefined;
  const observed = { ...inputs };
  const condition = tenant?.spec.tenantCondition;
  if (condition && (inputs.tenantCondition ?? (isImport ? condition : undefined)) !== undefined)
    observed.tenantCondition = condition;
  if (isImport && tenant?.spec.proxyURL) observed.proxyURL = tenant.spec.proxyURL;
  // Without the network there is no address to compare with: the network's own resource tells of that.
  const wantedProxy = inputs.inBand ? (inBandProxy ?? tenant?.spec.proxyURL) : observed.proxyURL;
  // Manifests may do without a handshake: an identity was then made by hand, on both sides.
  const isByHand = tenant?.spec.authzPolicy === "TolerateNoHandshake" && !identity && ownSecret !== undefined;
  const drift = [
    !tenant && "provider: the Tenant is missing",
    tenant && !nonce && !isByHand && "provider: the nonce is missing",
    tenant && (tenant.spec.proxyURL ?? "") !== (wantedProxy ?? "") && "provider: the Tenant names another proxy",
    tenant &&
      isOfOtherKey(tenant, publicKey) &&
      "provider: the Tenant is of another key than the consumer's present one",
    !identity && !isByHand && "consumer: the Identity is missing",
    identity && !identity.status?.kubeconfigSecretRef?.name && "consumer: the Identity has no kubeconfig",
    identity &&
      tenant &&
      (identity.spec.namespace ?? "") !== (tenant.status?.tenantNamespace ?? "") &&
      "consumer: the Identity names another tenant namespace",
    identity &&
      tenant?.status?.authParams &&
      (identity.spec.authParams?.proxyURL ?? "") !== (tenant.status.authParams.proxyURL ?? "") &&
      "consumer: the Identity names another proxy",
  ].filter((line) => typeof line === "string");
  const marks = addObjectMetadata({}, inputs);
  const changed = isImport
    ? []
    : [
        ...deviationsOf(identity, marks, "consumer"),
        ...deviationsOf(tenant, marks, "provider"),
        ...deviationsOf(nonce, marks, "provider"),
        ...namespaceDeviations(tenantNamespaces, inputs),
      ];
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: pair.consumer.clusterId,
      providerClusterId: pair.provider.clusterId,
      tenantNamespaces: namespaces,
      identityName: identity?.metadata.name ?? "",
      kubeconfigSecretName: identity?.status?.kubeconfigSecretRef?.name ?? (isByHand ? ownSecret : ""),
      apiServer: identity?.spec.authParams?.apiServer ?? "",
      ...(identity?.spec.authParams?.proxyURL ? { usedProxyURL: identity.spec.authParams.proxyURL } : {}),
      drift: [...drift, ...changed],
    },
  };
}

/** The Secret of a kubeconfig that was made by hand for acting on the provider, found by its labels. */
async function findOwnKubeconfig(
  { client, namespace, remoteId }: Party,
  signal: AbortSignal,
): Promise<string | undefined> {
  const labelSelector = { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: remoteId };
  const found = await ifVisible(client.list(SecretResource, { namespace, labelSelector, signal }));
  return found?.items[0]?.metadata?.name;
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
