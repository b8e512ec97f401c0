import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys, Labels, Names } from "../../../agent/api/index.js";
import { SecretResource, type KubeClient } from "../../../agent/runtime/index.js";
import { ifVisible, waitFor, type Progress } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { Party } from "./party.js";

type NonceLabel = typeof Labels.nonce | typeof Labels.signedNonce;

const USUAL_NAMES: Record<NonceLabel, string> = {
  [Labels.nonce]: Names.nonceSecret,
  [Labels.signedNonce]: Names.signedNonceSecret,
};

/** Asks the provider's agent for a nonce and gives it as the Secret holds it: base64 (of text that is base64 itself). */
export async function ensureNonce(progress: Progress, provider: Party): Promise<string> {
  const present = await findNonce(provider, Labels.nonce, progress.signal);
  const name = present?.metadata?.name ?? Names.nonceSecret;
  // Also of one that is there labels and annotations may have changed.
  const written = await applySecret(progress, provider, name, Labels.nonce, undefined);
  return waitForKey(progress, provider, written, DataKeys.nonce, "the provider's nonce");
}

/** Has the consumer's agent sign the nonce; gives the signature as base64. A signature of an earlier nonce is dropped first. */
export async function ensureSignature(progress: Progress, consumer: Party, nonce: string): Promise<string> {
  const present = await findNonce(consumer, Labels.signedNonce, progress.signal);
  const name = present?.metadata?.name ?? Names.signedNonceSecret;
  let written = await applySecret(progress, consumer, name, Labels.signedNonce, nonce);
  if (present?.data?.[DataKeys.signedNonce] && present.data[DataKeys.nonce] !== nonce) {
    const patch = { data: { [DataKeys.signedNonce]: null } };
    written = await consumer.client.mergePatch(SecretResource, { name, namespace: consumer.namespace }, patch, {
      signal: progress.signal,
    });
  }
  return waitForKey(progress, consumer, written, DataKeys.signedNonce, "the consumer's signature of the nonce");
}

/** The nonce Secret for the remote cluster, found by its labels; a peering user sees the one of the usual name only. @throws Error when there are several */
export async function findNonce(
  { client, namespace, remoteId }: Pick<Party, "client" | "namespace" | "remoteId">,
  label: NonceLabel,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  const labelSelector = { [label]: "true", [Labels.remoteClusterID]: remoteId };
  const found = await ifVisible(client.list(SecretResource, { namespace, labelSelector, signal }));
  if (!found) return client.get(SecretResource, { name: USUAL_NAMES[label], namespace }, signal);
  const { items } = found;
  if (items.length <= 1) return items[0];
  const names = items.map(({ metadata }) => metadata?.name).join(", ");
  throw new Error(
    `cluster ${client.cluster}, namespace ${namespace}: the Secrets ${names} all carry the label ${label} for ${remoteId}: delete all but one`,
  );
}

function applySecret(
  progress: Progress,
  { client, namespace, remoteId }: { client: KubeClient; namespace: string; remoteId: string },
  name: string,
  label: NonceLabel,
  nonce: string | undefined,
): Promise<Secret> {
  const secret: Secret = {
    metadata: { name, namespace, labels: { [label]: "true", [Labels.remoteClusterID]: remoteId } },
    ...(nonce === undefined ? {} : { data: { [DataKeys.nonce]: nonce } }),
  };
  return client.apply(SecretResource, secret, { fieldManager: MANAGER, signal: progress.signal });
}

function waitForKey(progress: Progress, party: Party, written: Secret, key: string, what: string): Promise<string> {
  const name = written.metadata?.name ?? "";
  return waitFor<Secret, string>(progress, {
    client: party.client,
    type: SecretResource,
    namespace: party.namespace,
    name,
    written,
    what: `${what} (Secret ${party.namespace}/${name})`,
    judge: ([secret]) => {
      const value = secret?.data?.[key];
      if (value) return { done: value };
      return secret ? { waiting: "the agent has not written it yet" } : { failed: "the Secret was deleted meanwhile" };
    },
    explain: (signal) => explainAgent(party, signal),
  });
}
