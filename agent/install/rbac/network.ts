import { IPAM, NETWORKING, Names } from "../../api/index.js";
import type { ReasonedRule } from "./rule.js";

const READ = ["get", "list", "watch"];
/** Made or changed by server-side apply, and deleted. */
const WRITE = [...READ, "create", "patch", "delete"];

/** Of gateways and nodes, for rules that users bring. */
const HOST_RULES: ReasonedRule[] = [
  {
    why: "Routes and firewall rules that users bring: carried out.",
    apiGroups: [NETWORKING.group],
    resources: ["routeconfigurations", "firewallconfigurations"],
    verbs: READ,
  },
  {
    why: "What has come of them is told on the objects.",
    apiGroups: [NETWORKING.group],
    resources: ["routeconfigurations/status", "firewallconfigurations/status"],
    verbs: ["patch"],
  },
];

/** What the controller's network area needs. */
export const NETWORK_CONTROLLER_RULES: ReasonedRule[] = [
  {
    why: "Allocation of ranges and addresses, and the objects made for each remote range and borrowed address.",
    apiGroups: [IPAM.group],
    resources: ["networks", "ips"],
    verbs: WRITE,
  },
  {
    why: "What has been allocated.",
    apiGroups: [IPAM.group],
    resources: ["networks/status", "ips/status"],
    verbs: ["update"],
  },
  {
    why: "Ranges exchanged with peers.",
    apiGroups: [NETWORKING.group],
    resources: ["configurations"],
    verbs: [...READ, "patch"],
  },
  {
    why: "Gateways, which users and tools ask for.",
    apiGroups: [NETWORKING.group],
    resources: ["gatewayservers", "gatewayclients"],
    verbs: READ,
  },
  {
    why: "Their WireGuard halves, made from templates.",
    apiGroups: [NETWORKING.group],
    resources: ["wggatewayservers", "wggatewayclients"],
    verbs: WRITE,
  },
  {
    why: "The links between nodes and gateways.",
    apiGroups: [NETWORKING.group],
    resources: ["internalnodes", "internalfabrics", "genevetunnels"],
    verbs: [...READ, "create", "update", "delete"],
  },
  {
    why: "How far each of these is.",
    apiGroups: [NETWORKING.group],
    resources: [
      "configurations/status",
      "gatewayservers/status",
      "gatewayclients/status",
      "wggatewayservers/status",
      "wggatewayclients/status",
      "internalnodes/status",
    ],
    verbs: ["update"],
  },
  {
    why: "What gateways are made from.",
    apiGroups: [NETWORKING.group],
    resources: ["wggatewayservertemplates", "wggatewayclienttemplates"],
    verbs: READ,
  },
  {
    why: "Template kinds that users bring, found by the label of their definitions. To read them, and to make what they describe, users grant.",
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    verbs: ["list", "watch"],
  },
  {
    why: "Each gateway's workload, identity, exposure and keys.",
    apiGroups: ["apps"],
    resources: ["deployments"],
    verbs: WRITE,
  },
  {
    why: "Each gateway's account and keys.",
    apiGroups: [""],
    resources: ["serviceaccounts", "secrets"],
    verbs: [...READ, "create", "patch"],
  },
  {
    why: "Keys pass to the gateway that comes after another of the same name: who changes an object's owners must be allowed to delete it.",
    onlyWhen: "where the cluster enforces it (admission plugin OwnerReferencesPermissionEnforcement)",
    apiGroups: [""],
    resources: ["secrets"],
    verbs: ["delete"],
  },
  {
    why: "Each gateway's exposure, and Services of borrowed addresses.",
    apiGroups: [""],
    resources: ["services"],
    verbs: WRITE,
  },
  {
    why: "Each gateway's rights to what is not in its namespace.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterrolebindings"],
    verbs: WRITE,
  },
  {
    why: "Each gateway's own role: its keys, and the choice among its replicas. All that it grants is granted to the controller, too.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["roles", "rolebindings"],
    verbs: [...READ, "create", "patch"],
  },
  {
    why: "Granted to gateways of several replicas: the choice of the one that serves.",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "get", "update"],
  },
  {
    why: "Granted to gateways of several replicas: the label of the one that serves.",
    onlyWhen: "to be granted: the API server compares it when such a Role is made",
    apiGroups: [""],
    resources: ["pods"],
    verbs: ["patch"],
  },
  {
    why: "Granted to gateways that are clients: where their server is reached, noted on their own Connection.",
    apiGroups: [NETWORKING.group],
    resources: ["connections"],
    verbs: ["patch"],
  },
  {
    why: "The one role for what is not in its namespace.",
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [Names.gatewayRole],
    verbs: ["bind"],
  },
  {
    why: "Services of borrowed addresses.",
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    verbs: WRITE,
  },
  {
    why: "Where gateways run, their addresses, and the addresses of offloaded pods.",
    apiGroups: [""],
    resources: ["nodes", "pods"],
    verbs: READ,
  },
  {
    why: "Telling people what happened, on the objects they look at.",
    apiGroups: [""],
    resources: ["events"],
    verbs: ["create", "patch"],
  },
  {
    why: "Routes and firewall rules that users bring, and what hosts say of them.",
    apiGroups: [NETWORKING.group],
    resources: ["routeconfigurations", "firewallconfigurations"],
    verbs: READ,
  },
  {
    why: "What hosts that are gone have said is taken back in their place.",
    onlyWhen: "a node or a gateway is gone that had carried out such rules",
    apiGroups: [NETWORKING.group],
    resources: ["routeconfigurations/status", "firewallconfigurations/status"],
    verbs: ["patch"],
  },
];

/** What every gateway needs; bound in the whole cluster, as links to nodes and borrowed addresses are not in its namespace. */
export const GATEWAY_RULES: ReasonedRule[] = [
  {
    why: "The peer's key and ranges, and the links to the nodes.",
    apiGroups: [NETWORKING.group],
    resources: ["publickeies", "configurations", "internalnodes", "internalfabrics", "genevetunnels"],
    verbs: READ,
  },
  {
    why: "The state of the tunnel, told to others.",
    apiGroups: [NETWORKING.group],
    resources: ["connections"],
    verbs: [...READ, "create"],
  },
  {
    why: "The state of the tunnel, told to others.",
    apiGroups: [NETWORKING.group],
    resources: ["connections/status"],
    verbs: ["patch"],
  },
  { why: "Addresses lent to peers.", apiGroups: [IPAM.group], resources: ["ips"], verbs: READ },
  {
    why: "Which pod ranges, or which pods, are on which node.",
    apiGroups: [""],
    resources: ["nodes", "pods"],
    verbs: READ,
  },
  ...HOST_RULES,
];

/** What the node agent needs. */
export const FABRIC_RULES: ReasonedRule[] = [
  {
    why: "The links to the gateways.",
    apiGroups: [NETWORKING.group],
    resources: ["internalnodes", "internalfabrics", "genevetunnels"],
    verbs: READ,
  },
  {
    why: "The node's own addresses: gateways take nobody else's for a node's among the pods'.",
    apiGroups: [NETWORKING.group],
    resources: ["internalnodes/status"],
    verbs: ["patch"],
  },
  {
    why: "The cluster's own pod ranges, and addresses that need masquerading.",
    apiGroups: [IPAM.group],
    resources: ["networks", "ips"],
    verbs: READ,
  },
  ...HOST_RULES,
];
