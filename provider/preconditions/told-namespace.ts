import type { Namespace } from "kubernetes-types/core/v1";
import { Names, peeringUserName, tenantNamespaceName } from "../../agent/api/index.js";
import { NamespaceResource, type KubeClient } from "../../agent/runtime/index.js";
import { ifVisible } from "../waits/index.js";

/**
 * On a tenant namespace: where the agent is. A peering user may list in that namespace alone, and cannot ask which one it is; its own tenant namespace it
 * may read.
 */
const AGENT_NAMESPACE = "user.pulumi-liqo/agent-namespace";
/** What a peering user's name has behind its consumer's ID (control plane specification, §18). */
const SUFFIX = /^-[0-9a-f]{32}$/;
const SUFFIX_LENGTH = 33;

/** What a tenant namespace is to say to its peering user; undefined where the agent is in the namespace that is looked at anyway. */
export function agentNamespaceToTell(agentNamespace: string): Record<string, string> | undefined {
  return agentNamespace === Names.namespace ? undefined : { [AGENT_NAMESPACE]: agentNamespace };
}

/** The same, to take it off. */
export const NOTHING_TO_TELL: Record<string, null> = { [AGENT_NAMESPACE]: null };

export function tellsAgentNamespace(namespace: Namespace | undefined, agentNamespace: string): boolean {
  const wanted = agentNamespaceToTell(agentNamespace);
  return !wanted || namespace?.metadata?.annotations?.[AGENT_NAMESPACE] === wanted[AGENT_NAMESPACE];
}

/** Whose a peering user is, and where it may look. */
export interface PeeringUser {
  consumer: string;
  tenantNamespace: string;
  /** Where the agent is, if the tenant namespace says so. */
  agentNamespace?: string;
}

/** Where the agent is, as the tenant namespace of a peering user says; undefined for everybody else. */
export async function toldAgentNamespace(client: KubeClient, signal?: AbortSignal): Promise<string | undefined> {
  return (await findPeeringUser(client, signal))?.agentNamespace;
}

/** The peering user that the client's credentials are of; undefined for everybody else. */
export async function findPeeringUser(client: KubeClient, signal?: AbortSignal): Promise<PeeringUser | undefined> {
  const consumer = consumerOf(await ownName(client, signal));
  if (consumer === undefined) return undefined;
  const tenantNamespace = tenantNamespaceName(consumer);
  const namespace = await ifVisible(client.get(NamespaceResource, { name: tenantNamespace }, signal));
  return { consumer, tenantNamespace, agentNamespace: namespace?.metadata?.annotations?.[AGENT_NAMESPACE] };
}

/** Whose credentials these are. Everybody may ask that; API servers before 1.28 do not know it. */
async function ownName(client: KubeClient, signal?: AbortSignal): Promise<string> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const subject = "whose its credentials are";
  const asked = client.request<{ status?: { userInfo?: { username?: string } } }>("POST", path, {
    body,
    subject,
    signal,
  });
  return (await ifVisible(asked))?.status?.userInfo?.username ?? "";
}

function consumerOf(userName: string): string | undefined {
  const prefix = peeringUserName("");
  const id = userName.slice(prefix.length, -SUFFIX_LENGTH);
  const isPeeringUser = userName.startsWith(prefix) && id !== "" && SUFFIX.test(userName.slice(-SUFFIX_LENGTH));
  return isPeeringUser ? id : undefined;
}
