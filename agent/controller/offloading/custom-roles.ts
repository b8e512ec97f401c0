import type { ClusterRole } from "kubernetes-types/rbac/v1";
import { ClusterRoleResource, type Informer } from "../../runtime/index.js";
import type { ControllerContext } from "../context.js";

/** The one role of that name by which the administrator lets custom resources be reflected; it is there, or it is not. Its rules are nobody's business here. */
export function customRoles({ informers }: ControllerContext, name: string): Informer<ClusterRole> {
  return informers.for(ClusterRoleResource, {
    fieldSelector: `metadata.name=${name}`,
    trim: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata, rules: [] }),
  });
}
