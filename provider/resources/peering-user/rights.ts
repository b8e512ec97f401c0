import { Names, tenantNamespaceName } from "../../../agent/api/index.js";
import {
  CertificateSigningRequestResource,
  ClusterRoleResource,
  NamespaceResource,
  RoleBindingResource,
} from "../../../agent/runtime/index.js";
import { agentNamespaceToTell, APPLY, type NeededIn, type NeededRight, type Peer } from "../../preconditions/index.js";

/** What giving somebody a credential needs to be allowed; Kubernetes itself asks for the rights that are passed on. */
export function peeringUserRights(
  { client, agentNamespace }: Peer,
  consumerClusterId: string,
): [NeededIn & { rights: NeededRight[] }] {
  const requests = CertificateSigningRequestResource;
  const rights: NeededRight[] = [
    { type: ClusterRoleResource, verbs: ["get"], name: Names.peeringUserTenantRole },
    { type: NamespaceResource, verbs: ["list", "create"] },
    { type: requests, verbs: ["get", "create", "delete"] },
    { type: requests, verbs: ["update"], subresource: "approval" },
    { type: RoleBindingResource, verbs: APPLY, namespace: agentNamespace },
    { type: RoleBindingResource, verbs: APPLY, namespace: tenantNamespaceName(consumerClusterId) },
    ...(agentNamespaceToTell(agentNamespace)
      ? [{ type: NamespaceResource, verbs: ["patch"], name: tenantNamespaceName(consumerClusterId) }]
      : []),
  ];
  return [{ where: "cluster", client, rights }];
}
