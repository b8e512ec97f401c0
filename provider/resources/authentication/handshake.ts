import { Labels } from "../../../agent/api/index.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import type { Pair } from "../../preconditions/index.js";
import { concurrently, ifVisible, type Progress } from "../../waits/index.js";
import { ensureTenantNamespace } from "../tenant-namespace/index.js";
import { applyIdentity, kubeconfigIn, waitForKubeconfig } from "./identity.js";
import { inBandProxyUrl } from "./in-band.js";
import { ensureNonce, ensureSignature } from "./nonce.js";
import { partiesOf, type Parties } from "./party.js";
import { applyKubeconfig, bindUser, waitForReplication } from "./own-identity.js";
import { proxyOf, serverOf, throughProxy } from "./own-identity-kubeconfig.js";
import type { AuthenticationInputs } from "./schema.js";
import { applyTenant, makeCredentials, NO_HANDSHAKE, waitForAcceptance, waitForGrant } from "./tenant.js";

export interface Authenticated {
  namespaces: { consumer: string; provider: string };
  identityName: string;
  kubeconfigSecretName: string;
  identity?: string;
  apiServer: string;
  proxyURL?: string;
}

type Options = Pick<AuthenticationInputs, "inBand" | "proxyURL" | "tenantCondition">;

/**
 * Gives the consumer an identity on the provider, in the order of Liqo's `peer` (control plane specification, §2, §13). Every step is "ensure": what
 * is there is kept.
 *
 * @param begun told once something exists
 */
export function authenticate(
  progress: Progress,
  pair: Pair,
  options: Options,
  begun: (namespaces: Authenticated["namespaces"]) => void,
): Promise<Authenticated> {
  return concurrently(progress, async (scope) => {
    const keys = scope.start((inner) => makeCredentials(inner, pair.consumer));
    const namespaces = await ensureNamespaces(scope, pair);
    begun(namespaces);
    const parties = partiesOf(pair, namespaces);
    const proxy = scope.start(async (inner) => (options.inBand ? inBandProxyUrl(inner, parties) : options.proxyURL));
    const signature = await signedNonce(scope, parties);
    const credentials = { ...(await keys), signature };
    scope.status("consumer: credentials for the Tenant prepared");
    const proxyURL = await proxy;
    if (options.inBand) scope.status(`consumer: the provider's API server is reached in-band, by ${proxyURL ?? ""}`);
    const tenant = await applyTenant(scope, parties.provider, credentials, {
      proxyURL,
      tenantCondition: options.tenantCondition,
    });
    scope.status("provider: Tenant applied");
    const grant = await waitForGrant(scope, parties.provider, tenant, options.tenantCondition);
    scope.status("provider: Tenant accepted, certificate signed");
    const identity = await applyIdentity(scope, parties.consumer, grant);
    scope.status("consumer: Identity applied");
    const kubeconfigSecretName = await waitForKubeconfig(scope, parties.consumer, identity);
    scope.status("consumer: Identity ready");
    const secret = { name: kubeconfigSecretName, namespace: parties.consumer.namespace };
    const made = kubeconfigIn(await ifVisible(parties.consumer.client.get(SecretResource, secret, scope.signal)));
    return {
      namespaces,
      identityName: identity.metadata.name ?? "",
      kubeconfigSecretName,
      ...(made === undefined ? {} : { identity: made }),
      apiServer: grant.authParams.apiServer ?? "",
      proxyURL: grant.authParams.proxyURL || undefined,
    };
  });
}

type OwnOptions = Options & Pick<AuthenticationInputs, "userName"> & { kubeconfig: string };

/**
 * The same with an identity that the program brings along: a Tenant that asks for no handshake, and the kubeconfig where the consumer's agent looks for it
 * (control plane specification, §12).
 *
 * @param begun told once something exists
 */
export function introduce(
  progress: Progress,
  pair: Pair,
  options: OwnOptions,
  begun: (namespaces: Authenticated["namespaces"]) => void,
): Promise<Authenticated> {
  return concurrently(progress, async (scope) => {
    const namespaces = await ensureNamespaces(scope, pair);
    begun(namespaces);
    const parties = partiesOf(pair, namespaces);
    const { consumer, provider } = parties;
    const { tenantCondition, userName } = options;
    const proxyURL = options.inBand ? await inBandProxyUrl(scope, parties) : options.proxyURL;
    const tenant = await applyTenant(scope, provider, NO_HANDSHAKE, { proxyURL, tenantCondition });
    scope.status("provider: Tenant applied, without a handshake");
    const remoteNamespace = await waitForAcceptance(scope, provider, tenant, tenantCondition);
    // The agent binds a drained consumer no more.
    const isDrained = tenant.tenant.spec.tenantCondition === "Drained";
    await bindUser(scope, provider, isDrained ? undefined : userName);
    const kubeconfig = throughProxy(options.kubeconfig, proxyURL);
    const secret = await applyKubeconfig(scope, consumer, kubeconfig, remoteNamespace);
    scope.status("consumer: kubeconfig of the identity applied");
    await waitForReplication(scope, consumer, secret);
    scope.status("consumer: the agent uses it");
    return {
      namespaces,
      identityName: "",
      kubeconfigSecretName: secret.metadata?.name ?? "",
      identity: kubeconfig,
      apiServer: serverOf(kubeconfig),
      proxyURL: proxyOf(kubeconfig),
    };
  });
}

async function ensureNamespaces(progress: Progress, pair: Pair): Promise<Authenticated["namespaces"]> {
  const [consumer, provider] = await Promise.all([
    ensureTenantNamespace(progress, pair.consumer, pair.provider.clusterId, "Authentication"),
    ensureTenantNamespace(progress, pair.provider, pair.consumer.clusterId, "Authentication"),
  ]);
  progress.status(`consumer: tenant namespace ${consumer.name} ${consumer.existed ? "is there" : "created"}`);
  progress.status(`provider: tenant namespace ${provider.name} ${provider.existed ? "is there" : "created"}`);
  return { consumer: consumer.name, provider: provider.name };
}

async function signedNonce(progress: Progress, { consumer, provider }: Parties): Promise<string> {
  const nonce = await ensureNonce(progress, provider);
  progress.status(`provider: nonce obtained (Secret label ${Labels.nonce})`);
  const signature = await ensureSignature(progress, consumer, nonce);
  progress.status("consumer: nonce signed");
  return signature;
}
