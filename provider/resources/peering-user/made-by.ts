import type { RoleBinding } from "kubernetes-types/rbac/v1";
import { RoleBindingResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { ifVisible } from "../../waits/index.js";
import { findTenantNamespace } from "../tenant-namespace/index.js";
import { bindingNames } from "./manifests.js";

/** On the bindings: the PeeringUser that made them, by its URN. A creation that broke off is known by it, and goes on. */
const MADE_BY = "user.pulumi-liqo/made-by";

/** A PeeringUser, and the user that its state tells of. */
export interface Owner {
  urn: string;
  userName?: string;
}

/** A binding that says who made it. */
export function markedBinding(binding: RoleBinding, { urn }: Owner): RoleBinding {
  return { ...binding, metadata: { ...binding.metadata, annotations: { [MADE_BY]: urn } } };
}

/** The bindings of a consumer's peering user that are somebody else's: of another PeeringUser, or made by hand or by Liqo's command line. */
export async function bindingsOfOthers(
  { client, agentNamespace }: Peer,
  consumerClusterId: string,
  owner: Owner,
  signal: AbortSignal,
): Promise<RoleBinding[]> {
  const names = bindingNames(consumerClusterId);
  const namespace = (await findTenantNamespace(client, consumerClusterId, signal))?.metadata?.name;
  const found = await Promise.all([
    client.get(RoleBindingResource, { name: names.installation, namespace: agentNamespace }, signal),
    namespace ? ifVisible(client.get(RoleBindingResource, { name: names.tenant, namespace }, signal)) : undefined,
  ]);
  return found.filter((binding) => binding !== undefined).filter((binding) => !isOwners(binding, owner));
}

function isOwners({ metadata, subjects }: RoleBinding, { urn, userName }: Owner): boolean {
  if (metadata?.annotations?.[MADE_BY] === urn) return true;
  return userName !== undefined && subjects?.some(({ name }) => name === userName) === true;
}

/**
 * A consumer has one peering user: another's credential would silently stop working.
 *
 * @throws Error naming the bindings, whose they are, and what to do
 */
export async function refuseOfOthers(
  provider: Peer,
  consumerClusterId: string,
  owner: Owner,
  signal: AbortSignal,
): Promise<void> {
  const others = await bindingsOfOthers(provider, consumerClusterId, owner, signal);
  if (others.length === 0) return;
  throw new Error(
    `consumerClusterId: consumer ${consumerClusterId} has a peering user in cluster ${provider.client.cluster} already, by ${describeBindings(others)}: ` +
      "hand out that one's kubeconfig, or delete it first (the PeeringUser of the program that made it, liqoctl delete peering-user, or these bindings); " +
      "it cannot be imported, as its private key is kept nowhere else",
  );
}

/** "RoleBinding ns/name (made by urn:…)" of each. */
export function describeBindings(bindings: RoleBinding[]): string {
  return bindings
    .map(({ metadata }) => {
      const maker = metadata?.annotations?.[MADE_BY];
      return `RoleBinding ${metadata?.namespace ?? ""}/${metadata?.name ?? ""}${maker ? ` (made by ${maker})` : ""}`;
    })
    .join(" and ");
}
