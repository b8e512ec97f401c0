import { Names } from "../../api/names.js";
import { InstallNames } from "../names.js";
import {
  AUTHENTICATION_CONTROLLER_RULES,
  PEERING_USER_LIQO_NS_RULES,
  PEERING_USER_TENANT_NS_RULES,
  REMOTE_CONTROLPLANE_RULES,
  REPLICATION_RULES,
  STATUS_RULES,
} from "./authentication.js";
import { CONTROLLER_PROCESS_RULES } from "./controller.js";
import { FABRIC_RULES, GATEWAY_RULES, NETWORK_CONTROLLER_RULES } from "./network.js";
import { OFFLOADING_CONTROLLER_RULES, STORAGE_NAMESPACE_RULES, WEBHOOK_RULES } from "./offloading.js";
import { PULL_SECRET_RULES } from "./pull-secrets.js";
import type { ReasonedRule } from "./rule.js";
import { UNINSTALL_GUARD_RULES } from "./uninstall-guard.js";
import {
  SERVING_CERTIFICATE_APPROVER_RULES,
  VIRTUAL_KUBELET_LOCAL_RULES,
  VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES,
  VIRTUAL_KUBELET_REMOTE_RULES,
} from "./virtual-node.js";

/** A role that the installation brings. */
export interface AgentRole {
  kind: "ClusterRole" | "Role";
  name: string;
  /** Values of `app.kubernetes.io/name` and `…/component`, by which controllers and tools find it (API specification, §11). */
  label: string;
  component: string;
  /** Who holds it, and where. */
  heldBy: string;
  rules: readonly ReasonedRule[];
  /** Of the Helm chart's hooks: no part of what runs. */
  isOfHook?: true;
}

/** Every ClusterRole, with the Role of peering users in the agent's namespace and the controller's in that for storage. */
export const AGENT_ROLES = {
  controller: {
    kind: "ClusterRole",
    name: InstallNames.controller,
    label: "controller-manager",
    component: "controller-manager",
    heldBy: "the controller, in the whole cluster: tenant namespaces may have any name",
    rules: [
      ...CONTROLLER_PROCESS_RULES,
      ...NETWORK_CONTROLLER_RULES,
      ...AUTHENTICATION_CONTROLLER_RULES,
      ...REPLICATION_RULES,
      ...STATUS_RULES,
      ...OFFLOADING_CONTROLLER_RULES,
      ...PULL_SECRET_RULES,
      ...WEBHOOK_RULES,
      ...SERVING_CERTIFICATE_APPROVER_RULES,
    ],
  },
  storage: {
    kind: "Role",
    name: InstallNames.controller,
    label: "storage",
    component: "storage",
    heldBy: `the controller, in namespace ${Names.storageNamespace}`,
    rules: STORAGE_NAMESPACE_RULES,
  },
  fabric: {
    kind: "ClusterRole",
    name: InstallNames.fabric,
    label: "fabric",
    component: "networking",
    heldBy: "the fabric on each node",
    rules: FABRIC_RULES,
  },
  gateway: {
    kind: "ClusterRole",
    name: Names.gatewayRole,
    label: "gateway",
    component: "networking",
    heldBy: "each gateway, in the whole cluster: links to nodes and lent addresses are not in its namespace",
    rules: GATEWAY_RULES,
  },
  virtualKubeletLocal: {
    kind: "ClusterRole",
    name: Names.virtualKubeletLocalRole,
    label: "virtual-kubelet-local",
    component: "offloading",
    heldBy: "each virtual node's process, in the consumer's cluster",
    rules: VIRTUAL_KUBELET_LOCAL_RULES,
  },
  remoteControlPlane: {
    kind: "ClusterRole",
    name: Names.remoteControlPlaneRole,
    label: "remote-controlplane",
    component: "auth",
    heldBy: "a consumer's control-plane identity, in its tenant namespace at the provider",
    rules: REMOTE_CONTROLPLANE_RULES,
  },
  virtualKubeletRemote: {
    kind: "ClusterRole",
    name: Names.virtualKubeletRemoteRole,
    label: "virtual-kubelet-remote",
    component: "offloading",
    heldBy: "the identities of a consumer's slices, in each namespace that it was given at the provider",
    rules: VIRTUAL_KUBELET_REMOTE_RULES,
  },
  virtualKubeletRemoteClusterwide: {
    kind: "ClusterRole",
    name: Names.virtualKubeletRemoteClusterwideRole,
    label: "virtual-kubelet-remote-clusterwide",
    component: "offloading",
    heldBy: "the identities of a consumer's slices, at the provider as a whole",
    rules: VIRTUAL_KUBELET_REMOTE_CLUSTERWIDE_RULES,
  },
  peeringUserTenant: {
    kind: "ClusterRole",
    name: Names.peeringUserTenantRole,
    label: "peering-user-tenant-ns",
    component: "peering-user",
    heldBy: "a peering user, in its tenant namespace",
    rules: PEERING_USER_TENANT_NS_RULES,
  },
  peeringUserInstallation: {
    kind: "Role",
    name: Names.peeringUserInstallationRole,
    label: "peering-user-liqo-ns",
    component: "peering-user",
    heldBy: "a peering user, in the agent's namespace",
    rules: PEERING_USER_LIQO_NS_RULES,
  },
  uninstallGuard: {
    kind: "ClusterRole",
    name: InstallNames.uninstallGuard,
    label: "uninstall-guard",
    component: "uninstall-guard",
    heldBy: "the Helm chart's hook before `helm uninstall`, while that runs; other installations do not have it",
    rules: UNINSTALL_GUARD_RULES,
    isOfHook: true,
  },
} as const satisfies Record<string, AgentRole>;
