/** Routes and firewall rules that users bring as custom resources, carried out by nodes and gateways. */
export { HostRules, type HostRulesOptions } from "./host-rules.js";
export { gatewayRuleOwner, rulesManager } from "./rules-manager.js";
export { firewallProblems } from "./firewall-problems.js";
export { routeProblems } from "./route-problems.js";
export { FirewallTables } from "./firewall-tables.js";
export { applyTablePlans } from "./routing-tables.js";
