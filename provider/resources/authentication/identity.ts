import type { Secret } from "kubernetes-types/core/v1";
import {
  controlPlaneIdentityName,
  DataKeys,
  IdentityResource,
  Labels,
  type AuthParams,
  type Identity,
} from "../../../agent/api/index.js";
import { waitFor, type Progress } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { Party } from "./party.js";
import type { Grant } from "./tenant.js";

/** What lets the consumer's agent act in its tenant namespace on the provider. */
export function identityManifest(
  consumer: Pick<Party, "namespace" | "remoteId">,
  grant: Grant,
  name = controlPlaneIdentityName(consumer.remoteId),
): { metadata: Identity["metadata"]; spec: Identity["spec"] } {
  const { namespace, remoteId } = consumer;
  return {
    metadata: { name, namespace, labels: { [Labels.remoteClusterID]: remoteId } },
    spec: {
      clusterID: remoteId,
      type: "ControlPlane",
      authParams: withoutEmpty(grant.authParams),
      namespace: grant.tenantNamespace,
    },
  };
}

/** The control plane identity for a provider, found by its label. @throws Error when there are several */
export async function findIdentity(
  { client, namespace, remoteId }: Pick<Party, "client" | "namespace" | "remoteId">,
  signal: AbortSignal,
): Promise<Identity | undefined> {
  const labelSelector = { [Labels.remoteClusterID]: remoteId };
  const { items } = await client.list(IdentityResource, { namespace, labelSelector, signal });
  const own = items.filter(({ spec }) => spec.type === "ControlPlane");
  if (own.length <= 1) return own[0];
  throw new Error(
    `cluster ${client.cluster}, namespace ${namespace}: there are several ControlPlane identities for ${remoteId} ` +
      `(${own.map(({ metadata }) => metadata.name).join(", ")}): delete all but one`,
  );
}

export async function applyIdentity(progress: Progress, consumer: Party, grant: Grant): Promise<Identity> {
  const present = await findIdentity(consumer, progress.signal);
  const manifest = identityManifest(consumer, grant, present?.metadata.name);
  return consumer.client.apply(IdentityResource, manifest, { fieldManager: MANAGER, signal: progress.signal });
}

/** Waits until the consumer's agent has made a kubeconfig of the identity; gives its Secret's name. */
export function waitForKubeconfig(progress: Progress, consumer: Party, identity: Identity): Promise<string> {
  const { name = "", namespace } = identity.metadata;
  return waitFor<Identity, string>(progress, {
    client: consumer.client,
    type: IdentityResource,
    namespace,
    name,
    written: identity,
    what: `the kubeconfig of Identity ${namespace}/${name} in the consumer`,
    judge: ([current]) => {
      const secret = current?.status?.kubeconfigSecretRef?.name;
      return secret ? { done: secret } : { waiting: "the agent has not written it yet" };
    },
    explain: (signal) => explainAgent(consumer, signal),
  });
}

/** The identity itself: the kubeconfig in a Secret of the consumer's. Undefined where it may not be read. */
export function kubeconfigIn(secret: Secret | undefined): string | undefined {
  const content = secret?.data?.[DataKeys.kubeconfig];
  return content === undefined ? undefined : Buffer.from(content, "base64").toString("utf8");
}

/** Absent and empty mean the same here; an object carries no nulls. */
function withoutEmpty(authParams: AuthParams): AuthParams {
  return Object.fromEntries(
    Object.entries(authParams).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
}
