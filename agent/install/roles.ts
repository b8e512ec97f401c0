import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role } from "kubernetes-types/rbac/v1";
import { Names } from "../api/names.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf } from "./labels.js";
import { InstallNames } from "./names.js";
import {
  AUTHENTICATION_CONTROLLER_RULES,
  PEERING_USER_LIQO_NS_RULES,
  PEERING_USER_TENANT_NS_RULES,
  REMOTE_CONTROLPLANE_RULES,
  REPLICATION_RULES,
  STATUS_RULES,
} from "./rbac/authentication.js";
import { CONTROLLER_PROCESS_RULES } from "./rbac/controller.js";
import { FABRIC_RULES, GATEWAY_RULES, NETWORK_CONTROLLER_RULES } from "./rbac/network.js";
import { OFFLOADING_CONTROLLER_RULES, WEBHOOK_RULES } from "./rbac/offloading.js";
import {
  SERVING_CERTIFICATE_APPROVER_RULES,
  VIRTUAL_KUBELET_LOCAL_RULES,
  VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES,
  VIRTUAL_KUBELET_REMOTE_RULES,
} from "./rbac/virtual-node.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_VERSION = "rbac.authorization.k8s.io/v1";

/** Every ClusterRole, under the names and labels that controllers and tools look for (API specification, §11). */
export function clusterRoleManifests(inputs: InstallInputs): ClusterRole[] {
  const role = (name: string, short: string, component: string, rules: PolicyRule[]): ClusterRole => ({
    apiVersion: RBAC_VERSION,
    kind: "ClusterRole",
    metadata: { name, labels: labelsOf(inputs, short, component) },
    rules,
  });
  return [
    role(InstallNames.controller, "controller-manager", "controller-manager", [
      ...CONTROLLER_PROCESS_RULES,
      ...NETWORK_CONTROLLER_RULES,
      ...AUTHENTICATION_CONTROLLER_RULES,
      ...REPLICATION_RULES,
      ...STATUS_RULES,
      ...OFFLOADING_CONTROLLER_RULES,
      ...WEBHOOK_RULES,
      ...SERVING_CERTIFICATE_APPROVER_RULES,
    ]),
    role(InstallNames.fabric, "fabric", "networking", FABRIC_RULES),
    role(Names.gatewayRole, "gateway", "networking", GATEWAY_RULES),
    role(Names.remoteControlPlaneRole, "remote-controlplane", "auth", REMOTE_CONTROLPLANE_RULES),
    role(Names.virtualKubeletLocalRole, "virtual-kubelet-local", "offloading", VIRTUAL_KUBELET_LOCAL_RULES),
    role(Names.virtualKubeletRemoteRole, "virtual-kubelet-remote", "offloading", VIRTUAL_KUBELET_REMOTE_RULES),
    role(
      Names.virtualKubeletRemoteClusterwideRole,
      "virtual-kubelet-remote-clusterwide",
      "offloading",
      VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES,
    ),
    role(Names.peeringUserTenantRole, "peering-user-tenant-ns", "peering-user", PEERING_USER_TENANT_NS_RULES),
  ];
}

/** What a peering user may read in the agent's own namespace. */
export function peeringUserRoleManifest(inputs: InstallInputs): Role {
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: {
      name: Names.peeringUserInstallationRole,
      namespace: inputs.namespace,
      labels: labelsOf(inputs, "peering-user-liqo-ns", "peering-user"),
    },
    rules: PEERING_USER_LIQO_NS_RULES,
  };
}

export function clusterRoleBindingManifests(inputs: InstallInputs): ClusterRoleBinding[] {
  const binding = (name: string, role: string, account: string, short: string): ClusterRoleBinding => ({
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf(inputs, short) },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: inputs.namespace }],
  });
  const { controller, fabric } = InstallNames;
  return [
    binding(controller, controller, controller, "controller-manager"),
    // The replicator of this cluster reads and writes what it replicates (API specification, §11).
    binding(`${controller}-replication`, Names.remoteControlPlaneRole, controller, "controller-manager"),
    binding(fabric, fabric, fabric, "fabric"),
  ];
}
