import type { PolicyRule } from "kubernetes-types/rbac/v1";

/** What the controller process itself needs, whatever its areas do. */
export const CONTROLLER_PROCESS_RULES: PolicyRule[] = [
  // Electing the replica that leads.
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update", "patch"] },
  // Telling people what happened, on the objects they look at.
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];
