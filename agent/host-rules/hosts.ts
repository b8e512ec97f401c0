import { FirewallSubcategory, Labels, RouteSubcategory, RuleCategory } from "../api/index.js";

/** Who carries out rules that users bring: a node, or the gateway of one link on a node (network specification, §9). */
export interface RuleHost {
  node: string;
  /** Gateways: the cluster that the link leads to. */
  remoteClusterID?: string;
}

type LabelSet = Record<string, string>;

/** Whether a host carries out a RouteConfiguration with these labels. */
export function carriesOutRoutes(host: RuleHost, labels: LabelSet | undefined): boolean {
  return routeLabelSets(host).some((set) => hasAll(labels, set));
}

/** Whether a host carries out a FirewallConfiguration with these labels. */
export function carriesOutFirewall(host: RuleHost, labels: LabelSet | undefined): boolean {
  return firewallLabelSets(host).some((set) => hasAll(labels, set));
}

function routeLabelSets({ node, remoteClusterID }: RuleHost): LabelSet[] {
  const { routeCategory: category, routeSubcategory: subcategory, routeUnique: unique } = Labels;
  if (remoteClusterID === undefined) return [{ [category]: RuleCategory.fabric }];
  const ofGateways = { [category]: RuleCategory.gateway };
  return [
    { ...ofGateways, [unique]: remoteClusterID },
    { ...ofGateways, [subcategory]: RouteSubcategory.fabric },
    { ...ofGateways, [subcategory]: RouteSubcategory.fabricNode, [unique]: node },
  ];
}

function firewallLabelSets({ node, remoteClusterID }: RuleHost): LabelSet[] {
  const { firewallCategory: category, firewallSubcategory: subcategory, firewallUnique: unique } = Labels;
  const { fabric, allNodes, singleNode, allGateways, ipMapping } = FirewallSubcategory;
  if (remoteClusterID === undefined) {
    const ofNodes = { [category]: RuleCategory.fabric };
    return [
      { ...ofNodes, [subcategory]: allNodes },
      { ...ofNodes, [subcategory]: ipMapping },
      { ...ofNodes, [subcategory]: singleNode, [unique]: node },
    ];
  }
  const ofGateways = { [category]: RuleCategory.gateway };
  return [
    { ...ofGateways, [unique]: remoteClusterID },
    ...[fabric, allGateways, ipMapping].map((value) => ({ ...ofGateways, [subcategory]: value })),
  ];
}

function hasAll(labels: LabelSet | undefined, wanted: LabelSet): boolean {
  return Object.entries(wanted).every(([key, value]) => labels?.[key] === value);
}
