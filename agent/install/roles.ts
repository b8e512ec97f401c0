import type { ClusterRole, ClusterRoleBinding, Role } from "kubernetes-types/rbac/v1";
import { Names } from "../api/names.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { InstallNames } from "./names.js";
import { AGENT_ROLES, type AgentRole } from "./rbac/roles.js";
import { policyRules } from "./rbac/rule.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_VERSION = "rbac.authorization.k8s.io/v1";

/** Every ClusterRole, under the names and labels that controllers and tools look for (API specification, §11). */
export function clusterRoleManifests(inputs: InstallInputs): ClusterRole[] {
  const roles: AgentRole[] = Object.values(AGENT_ROLES);
  return roles
    .filter(({ kind, isOfHook }) => kind === "ClusterRole" && !isOfHook)
    .map((role) => clusterRoleManifest(inputs, role));
}

export function clusterRoleManifest(inputs: InstallInputs, { name, label, component, rules }: AgentRole): ClusterRole {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRole",
    metadata: { name, labels: labelsOf(inputs, label, component) },
    rules: policyRules(rules),
  };
}

export function roleManifest(inputs: InstallInputs, role: AgentRole, namespace: string): Role {
  const { name, label, component, rules } = role;
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: { name, namespace, labels: labelsOf(inputs, label, component) },
    rules: policyRules(rules),
  };
}

/** What a peering user may read in the agent's own namespace. */
export function peeringUserRoleManifest(inputs: InstallInputs): Role {
  return roleManifest(inputs, AGENT_ROLES.peeringUserInstallation, inputs.namespace);
}

export function clusterRoleBindingManifests(inputs: InstallInputs): ClusterRoleBinding[] {
  const binding = (name: string, role: string, account: string, short: string): ClusterRoleBinding =>
    clusterRoleBindingManifest(inputs, { name, role, account, short });
  const { controller, fabric } = InstallNames;
  return [
    binding(controller, controller, controller, "controller-manager"),
    // The replicator of this cluster reads and writes what it replicates (API specification, §11).
    binding(`${controller}-replication`, Names.remoteControlPlaneRole, controller, "controller-manager"),
    binding(fabric, fabric, fabric, "fabric"),
  ];
}

export function clusterRoleBindingManifest(
  inputs: InstallInputs,
  { name, role, account, short }: { name: string; role: string; account: string; short: string },
): ClusterRoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf(inputs, short) },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: inputs.namespace }],
  };
}
