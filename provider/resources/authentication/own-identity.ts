import type { Secret } from "kubernetes-types/core/v1";
import type { RoleBinding } from "kubernetes-types/rbac/v1";
import {
  Annotations,
  controlPlaneIdentityName,
  DataKeys,
  Finalizers,
  kubeconfigSecretName,
  Labels,
  Names,
} from "../../../agent/api/index.js";
import { hasFinalizer, RoleBindingResource, SecretResource } from "../../../agent/runtime/index.js";
import { ifVisible, latestWarning, waitFor, type Progress } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import type { Party } from "./party.js";

/** An identity that somebody has made by hand instead of a handshake (control plane specification, §12). */

/** The Secret by which the consumer's agent replicates to the provider. */
export function kubeconfigSecret(
  { namespace, remoteId }: Pick<Party, "namespace" | "remoteId">,
  kubeconfig: string,
  remoteNamespace: string,
  name = kubeconfigSecretName(controlPlaneIdentityName(remoteId)),
): Secret {
  return {
    metadata: {
      name,
      namespace,
      labels: { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: remoteId },
      annotations: { [Annotations.remoteTenantNamespace]: remoteNamespace },
    },
    data: { [DataKeys.kubeconfig]: Buffer.from(kubeconfig).toString("base64") },
  };
}

/** The Secrets that hold the consumer's control plane identity, whoever has made them; undefined where they may not be seen. */
export async function findKubeconfigSecrets(
  { client, namespace, remoteId }: Pick<Party, "client" | "namespace" | "remoteId">,
  signal: AbortSignal,
): Promise<Secret[] | undefined> {
  const labelSelector = { [Labels.identityType]: "ControlPlane", [Labels.remoteClusterID]: remoteId };
  return (await ifVisible(client.list(SecretResource, { namespace, labelSelector, signal })))?.items;
}

/** Whether no Identity has made it. */
export function isByHand({ metadata }: { metadata?: Secret["metadata"] }): boolean {
  return (metadata?.ownerReferences ?? []).length === 0;
}

/** Gives the consumer the kubeconfig; gives its Secret's name. One that is there keeps its name. */
export async function applyKubeconfig(
  progress: Progress,
  consumer: Party,
  kubeconfig: string,
  remoteNamespace: string,
): Promise<Secret> {
  const present = (await findKubeconfigSecrets(consumer, progress.signal))?.find(isByHand);
  const secret = kubeconfigSecret(consumer, kubeconfig, remoteNamespace, present?.metadata?.name);
  return consumer.client.apply(SecretResource, secret, { fieldManager: MANAGER, signal: progress.signal });
}

/** Waits until the consumer's agent works with the kubeconfig: it holds the Secret from then on. */
export async function waitForReplication(progress: Progress, consumer: Party, written: Secret): Promise<void> {
  const { name = "", namespace = "" } = written.metadata ?? {};
  await waitFor<Secret, void>(progress, {
    client: consumer.client,
    type: SecretResource,
    namespace,
    name,
    written,
    what: `the consumer's agent to use the kubeconfig of Secret ${namespace}/${name}`,
    judge: ([secret]) => {
      if (!secret) return { failed: "the Secret was deleted meanwhile" };
      return hasFinalizer(secret, Finalizers.replicatorOperator)
        ? { done: undefined }
        : { waiting: "the agent has not taken it up yet" };
    },
    explain: async (signal) =>
      (await latestWarning(consumer.client, namespace, { kind: "Secret", name }, signal)) ??
      explainAgent(consumer, signal),
  });
}

/** Lets a user write the consumer's replicated resources in its tenant namespace, as a handshake would let the consumer itself. */
export function userBinding(
  { namespace, remoteId }: Pick<Party, "namespace" | "remoteId">,
  user: string,
): RoleBinding & Required<Pick<RoleBinding, "metadata">> {
  return {
    metadata: { name: Names.remoteControlPlaneBinding, namespace, labels: { [Labels.remoteClusterID]: remoteId } },
    roleRef: { apiGroup: RoleBindingResource.group, kind: "ClusterRole", name: Names.remoteControlPlaneRole },
    subjects: [{ apiGroup: RoleBindingResource.group, kind: "User", name: user }],
  };
}

/** The binding of the identity's user that was made here; one made by hand is its maker's. */
export async function findUserBinding(
  { client, namespace }: Pick<Party, "client" | "namespace">,
  signal: AbortSignal,
): Promise<RoleBinding | undefined> {
  const id = { name: Names.remoteControlPlaneBinding, namespace };
  const present = await ifVisible(client.get(RoleBindingResource, id, signal));
  return present?.metadata?.labels?.[Labels.appManagedBy] === MANAGER ? present : undefined;
}

/** The binding as this provider makes it, and knows it again. */
export function ownUserBinding(provider: Pick<Party, "namespace" | "remoteId">, user: string): RoleBinding {
  const binding = userBinding(provider, user);
  const labels = { ...binding.metadata.labels, [Labels.appManagedBy]: MANAGER };
  return { ...binding, metadata: { ...binding.metadata, labels } };
}

/** Binds the user, or nobody any more. */
export async function bindUser(progress: Progress, provider: Party, user: string | undefined): Promise<void> {
  if (!user) return unbindUser(progress, provider);
  const { signal } = progress;
  await provider.client.apply(RoleBindingResource, ownUserBinding(provider, user), { fieldManager: MANAGER, signal });
  progress.status(`provider: user ${user} bound to ${Names.remoteControlPlaneRole}`);
}

export async function unbindUser(progress: Progress, provider: Party): Promise<void> {
  const { client, namespace } = provider;
  const { signal } = progress;
  const present = await findUserBinding(provider, signal);
  if (!present) return;
  const options = { uid: present.metadata?.uid, signal };
  await client.delete(RoleBindingResource, { name: Names.remoteControlPlaneBinding, namespace }, options);
  progress.status("provider: the identity's user is bound no more");
}
