import { DataKeys, IdentityResource, Labels, Names, TenantResource } from "../../../agent/api/index.js";
import { RoleBindingResource, SecretResource, type KubeObject } from "../../../agent/runtime/index.js";
import { identityManifest } from "../../resources/authentication/identity.js";
import { kubeconfigSecret, userBinding } from "../../resources/authentication/own-identity.js";
import { NO_HANDSHAKE, tenantManifest } from "../../resources/authentication/tenant.js";
import type { RenderedEnd, RenderedEnds } from "./link.js";
import { manifestOf, withChosenMetadata } from "./manifest.js";
import type { AuthenticationManifestInputs } from "./schema.js";

/** What gives a consumer access, in both clusters: by credentials of the user's own, or step by step by the agents' handshake. */
export function accessManifests(
  ends: RenderedEnds,
  inputs: AuthenticationManifestInputs,
  notes: string[],
): { consumer: KubeObject[]; provider: KubeObject[] } {
  if (inputs.inBand && !inputs.proxyURL) {
    notes.push(
      "provider: the in-band proxy's address is known only once the network is up: give it as authentication.proxyURL " +
        "(http://, the address of the provider's IP api-server-proxy as the consumer calls it, and port 8118)",
    );
  }
  const isOwn = inputs.userName !== undefined || inputs.kubeconfig !== undefined;
  const provider = (isOwn ? ownCredentials : handshakeOnProvider)(ends.provider, inputs, notes);
  const consumer = (isOwn ? ownIdentity : handshakeOnConsumer)(ends, inputs, notes);
  return { consumer: withChosenMetadata(consumer, inputs), provider: withChosenMetadata(provider, inputs) };
}

/** Credentials that nobody exchanged: a binding for their user, and a Tenant that needs no proof (control plane specification, §15). */
function ownCredentials(
  provider: RenderedEnd,
  { userName, tenantCondition }: AuthenticationManifestInputs,
  notes: string[],
): KubeObject[] {
  const { remoteId, namespace, inputs } = provider;
  if (!userName) {
    notes.push(
      "provider: the RoleBinding is left out, as the user of the kubeconfig is not known: give authentication.userName",
    );
  }
  const options = { tenantCondition: tenantCondition ?? "Active" };
  return [
    ...(userName ? [manifestOf(RoleBindingResource, userBinding({ namespace, remoteId }, userName))] : []),
    manifestOf(TenantResource, tenantManifest(remoteId, namespace, NO_HANDSHAKE, options, inputs.names?.tenant)),
  ];
}

function ownIdentity(
  { consumer, provider }: RenderedEnds,
  { kubeconfig }: AuthenticationManifestInputs,
  notes: string[],
): KubeObject[] {
  if (!kubeconfig) {
    notes.push("consumer: the identity's Secret is left out: give authentication.kubeconfig");
    return [];
  }
  const secret = kubeconfigSecret(consumer, kubeconfig, provider.namespace, consumer.inputs.names?.identity);
  return [manifestOf(SecretResource, secret)];
}

/** The Secret that asks for a nonce; the Tenant once the consumer has answered. */
function handshakeOnProvider(
  provider: RenderedEnd,
  { handshake = {}, proxyURL, tenantCondition }: AuthenticationManifestInputs,
  notes: string[],
): KubeObject[] {
  const { remoteId, namespace, inputs } = provider;
  const nonce = manifestOf(SecretResource, {
    metadata: {
      name: Names.nonceSecret,
      namespace,
      labels: { [Labels.nonce]: "true", [Labels.remoteClusterID]: remoteId },
    },
  });
  const { publicKey, csr, signature } = handshake;
  if (!publicKey || !csr || !signature) {
    notes.push(
      "provider: the Tenant is left out, as the consumer's proof is not known: give authentication.handshake.publicKey, csr " +
        "and signature (the Authentication resource does all of the handshake by itself)",
    );
    return [nonce];
  }
  const credentials = { publicKey, csr, signature };
  const tenant = tenantManifest(remoteId, namespace, credentials, { proxyURL, tenantCondition }, inputs.names?.tenant);
  return [nonce, manifestOf(TenantResource, tenant)];
}

/** The Secret that has the nonce signed, once there is one; the Identity once the provider has answered. */
function handshakeOnConsumer(
  { consumer, provider }: RenderedEnds,
  { handshake = {} }: AuthenticationManifestInputs,
  notes: string[],
): KubeObject[] {
  const { remoteId, namespace } = consumer;
  const { nonce, authParams } = handshake;
  const objects: KubeObject[] = [];
  if (nonce) {
    const labels = { [Labels.signedNonce]: "true", [Labels.remoteClusterID]: remoteId };
    const metadata = { name: Names.signedNonceSecret, namespace, labels };
    objects.push(manifestOf(SecretResource, { metadata, data: { [DataKeys.nonce]: nonce } }));
  } else {
    notes.push(
      `consumer: the Secret that has the nonce signed is left out: give authentication.handshake.nonce, from Secret ${provider.namespace}/${Names.nonceSecret} of the provider`,
    );
  }
  if (authParams) {
    const identity = identityManifest(consumer, { authParams, tenantNamespace: provider.namespace });
    return [...objects, manifestOf(IdentityResource, identity)];
  }
  notes.push(
    "consumer: the Identity is left out, as the provider has not answered yet: give authentication.handshake.authParams, from the Tenant's status.authParams",
  );
  return objects;
}
