import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { KubeClient, RoleBindingResource, RoleResource } from "../../../../agent/runtime/index.js";
import { until } from "../../../clusters/support/wait.js";
import type { ApiServer } from "../../support/api-server.js";

const MANAGER = { fieldManager: "test" };
const RBAC = "rbac.authorization.k8s.io";

/** Gives a user rights in a namespace, and waits until the API server goes by them. */
export async function grant(server: ApiServer, user: string, namespace: string, rules: PolicyRule[]): Promise<void> {
  const { client } = server;
  const metadata = { name: user, namespace };
  await client.apply(RoleResource, { metadata, rules }, MANAGER);
  const roleRef = { apiGroup: RBAC, kind: "Role", name: user };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: user }];
  await client.apply(RoleBindingResource, { metadata, roleRef, subjects }, MANAGER);
  const own = KubeClient.fromText(await server.kubeconfigFor(user));
  const last = rules.at(-1);
  const resourceAttributes = {
    namespace,
    group: last?.apiGroups?.[0],
    resource: last?.resources?.[0],
    verb: last?.verbs[0],
  };
  await until(`the rights of ${user}`, 40_000, async () => {
    const review = await own.request<{ status: { allowed: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } },
      },
    );
    return review.status.allowed || undefined;
  });
  own.close();
}
