import type { PolicyRule } from "kubernetes-types/rbac/v1";
import { IPAM, NETWORKING, Names } from "../../api/index.js";

const READ = ["get", "list", "watch"];
const WRITE = ["get", "list", "watch", "create", "update", "patch", "delete"];

/** Routes and firewall rules that users bring: carried out, and told of. */
const HOST_RULES: PolicyRule[] = [
  { apiGroups: [NETWORKING.group], resources: ["routeconfigurations", "firewallconfigurations"], verbs: READ },
  {
    apiGroups: [NETWORKING.group],
    resources: ["routeconfigurations/status", "firewallconfigurations/status"],
    verbs: ["patch"],
  },
];

/** What the controller's network area needs. */
export const NETWORK_CONTROLLER_RULES: PolicyRule[] = [
  // Allocation of ranges and addresses, and the objects made for each remote range and borrowed address.
  { apiGroups: [IPAM.group], resources: ["networks", "networks/status", "ips", "ips/status"], verbs: WRITE },
  {
    // Ranges exchanged with peers, gateways and the links between nodes and gateways.
    apiGroups: [NETWORKING.group],
    resources: [
      "configurations",
      "configurations/status",
      "gatewayservers",
      "gatewayservers/status",
      "gatewayclients",
      "gatewayclients/status",
      "wggatewayservers",
      "wggatewayservers/status",
      "wggatewayclients",
      "wggatewayclients/status",
      "internalnodes",
      "internalnodes/status",
      "internalfabrics",
      "genevetunnels",
    ],
    verbs: WRITE,
  },
  // What gateways are made from.
  { apiGroups: [NETWORKING.group], resources: ["wggatewayservertemplates", "wggatewayclienttemplates"], verbs: READ },
  // Template kinds that users bring, found by the label of their definitions. To read them, and to make what they describe, users grant.
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"] },
  // Each gateway's workload, identity, exposure and keys.
  { apiGroups: ["apps"], resources: ["deployments"], verbs: WRITE },
  { apiGroups: [""], resources: ["serviceaccounts", "services", "secrets"], verbs: WRITE },
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterrolebindings"], verbs: WRITE },
  // Each gateway's own role: its keys, and the choice among its replicas. All that it grants is granted to the controller, too.
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles", "rolebindings"], verbs: ["create", "patch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["patch"] },
  // The one role for what is not in its namespace.
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.gatewayRole],
    verbs: ["bind"],
  },
  // Services of borrowed addresses.
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: WRITE },
  // Where gateways run, their addresses, and the addresses of offloaded pods.
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: READ },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  // What hosts that are gone have said of rules that users bring: taken back in their place.
  ...HOST_RULES,
];

/** What every gateway needs; bound in the whole cluster, as links to nodes and borrowed addresses are not in its namespace. */
export const GATEWAY_RULES: PolicyRule[] = [
  // The peer's key and ranges, and the links to the nodes.
  {
    apiGroups: [NETWORKING.group],
    resources: ["publickeies", "configurations", "internalnodes", "internalfabrics", "genevetunnels"],
    verbs: READ,
  },
  // The state of the tunnel, told to others.
  {
    apiGroups: [NETWORKING.group],
    resources: ["connections"],
    verbs: ["get", "list", "watch", "create", "update", "patch"],
  },
  { apiGroups: [NETWORKING.group], resources: ["connections/status"], verbs: ["get", "update", "patch"] },
  // Addresses lent to peers.
  { apiGroups: [IPAM.group], resources: ["ips"], verbs: READ },
  // Which pod ranges, or which pods, are on which node.
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: READ },
  ...HOST_RULES,
];

/** What the node agent needs. */
export const FABRIC_RULES: PolicyRule[] = [
  // The links to the gateways.
  { apiGroups: [NETWORKING.group], resources: ["internalnodes", "internalfabrics", "genevetunnels"], verbs: READ },
  // The cluster's own pod ranges, and addresses that need masquerading.
  { apiGroups: [IPAM.group], resources: ["networks", "ips"], verbs: READ },
  ...HOST_RULES,
];
