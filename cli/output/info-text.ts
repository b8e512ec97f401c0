import type { ClusterInfo, PeerInfo } from "../../provider/functions/info-schema.js";
import type { Style } from "./style.js";
import { indent, table } from "./table.js";
import { tree, type Branch } from "./tree.js";

type Health = PeerInfo["network"]["status"];

/** What a person wants to know of an installation, in three sections. */
export function clusterText(info: ClusterInfo, style: Style): string {
  const { local, network } = info;
  const facts: [string, string][] = [
    ["Cluster ID", style.bold(local.clusterID)],
    ["Version", local.version || "unknown"],
    ["API server", local.APIServerAddr],
    ["Labels", pairs(local.labels) || "none"],
    ...(network ? rangeRows(network) : [["Network", "disabled"] as [string, string]]),
  ];
  return [
    style.bold("Local installation"),
    ...indent(table(facts.map(([name, value]) => [style.dim(name), value]))),
    "",
    style.bold("Installation health"),
    ...indent(healthLines(info.health, style)),
    "",
    style.bold("Active peerings"),
    ...indent(peeringLines(info.peerings.peers, style)),
    "",
  ].join("\n");
}

function rangeRows(network: NonNullable<ClusterInfo["network"]>): [string, string][] {
  return [
    ["Pod CIDRs", network.podCIDRs.join(", ")],
    ["Service CIDR", network.serviceCIDR],
    ["External CIDR", network.externalCIDR],
    ["Internal CIDR", network.internalCIDR],
  ];
}

function healthLines({ healthy, unhealthyPods = {} }: ClusterInfo["health"], style: Style): string[] {
  if (healthy) return [`${style.good("✔")} all pods of the agent are ready`];
  if (Object.keys(unhealthyPods).length === 0) return [`${style.bad("✘")} no pod of the agent is ready`];
  const rows = Object.entries(unhealthyPods).map(([name, pod]) => [
    name,
    pod.status,
    `${pod.readyContainers}/${pod.totalContainers}`,
    String(pod.restarts),
  ]);
  return [
    `${style.bad("✘")} ${rows.length === 1 ? "a pod" : `${rows.length} pods`} of the agent not ready`,
    ...indent(table([["POD", "STATUS", "READY", "RESTARTS"].map(style.dim), ...rows])),
  ];
}

function peeringLines(peers: ClusterInfo["peerings"]["peers"], style: Style): string[] {
  if (peers.length === 0) return ["none"];
  const rows = peers.map((peer) => [
    peer.clusterID,
    roleText(peer.role),
    mark(peer.networkingStatus, style),
    mark(peer.authenticationStatus, style),
    mark(peer.offloadingStatus, style),
  ]);
  const head = ["CLUSTER ID", "ROLE", "NETWORK", "AUTHENTICATION", "OFFLOADING"].map(style.dim);
  return table([head, ...rows]);
}

/** Peers in full, one tree each. */
export function peersText(peers: Record<string, PeerInfo>, style: Style): string {
  const all = Object.values(peers);
  if (all.length === 0) return "The cluster has no peers.\n";
  return `${all.map((peer) => tree(peerBranch(peer, style)).join("\n")).join("\n\n")}\n`;
}

function peerBranch({ info, network, authentication, offloading }: PeerInfo, style: Style): Branch {
  return {
    text: `${style.bold(info.clusterID)} ${style.dim(`(${roleText(info.role)})`)}`,
    children: [
      { text: moduleText("Network", network.status, style), children: networkBranches(network, style) },
      {
        text: moduleText("Authentication", authentication.status, style),
        children: authenticationBranches(authentication, style),
      },
      { text: moduleText("Offloading", offloading.status, style), children: offloadingBranches(offloading, style) },
    ],
  };
}

function networkBranches({ alerts, CIDRs, gateway }: PeerInfo["network"], style: Style): Branch[] {
  const { remote, remapped } = CIDRs;
  return [
    ...alertBranches(alerts, style),
    ...(remote ? [fact("CIDRs", rangesText(remote), style)] : []),
    ...(remapped ? [fact("remapped to", rangesText(remapped), style)] : []),
    ...(gateway ? [fact("gateway", gatewayText(gateway), style)] : []),
  ];
}

function authenticationBranches(authentication: PeerInfo["authentication"], style: Style): Branch[] {
  const { alerts, APIServerAddr, resourceSlices } = authentication;
  return [
    ...alertBranches(alerts, style),
    ...(APIServerAddr ? [fact("API server", APIServerAddr, style)] : []),
    ...resourceSlices.map((slice) => ({
      text: `${style.dim("slice")} ${slice.name}: ${slice.action.toLowerCase()}, ${slice.accepted ? style.good("accepted") : style.bad("not accepted")}`,
      children: [...alertBranches(slice.alerts, style), ...amountBranches(slice.resources, style)],
    })),
  ];
}

function offloadingBranches({ alerts, virtualNodes }: PeerInfo["offloading"], style: Style): Branch[] {
  return [
    ...alertBranches(alerts, style),
    ...virtualNodes.map((node) => ({
      text: `${style.dim("virtual node")} ${node.name}: ${mark(node.status, style)}`,
      children: [
        ...(node.resourceSlice ? [fact("slice", node.resourceSlice, style)] : []),
        fact("secret", node.secret, style),
        ...amountBranches(node.resources, style),
      ],
    })),
  ];
}

const fact = (name: string, value: string, style: Style): Branch => ({ text: `${style.dim(name)} ${value}` });

function alertBranches(alerts: readonly string[] = [], style: Style): Branch[] {
  return alerts.map((alert) => ({ text: `${style.bad("!")} ${alert}` }));
}

function amountBranches(resources: Record<string, string>, style: Style): Branch[] {
  const text = Object.entries(resources)
    .map(([name, amount]) => `${name} ${amount}`)
    .join(", ");
  return text ? [fact("resources", text, style)] : [];
}

function moduleText(name: string, status: Health, style: Style): string {
  return `${name}: ${mark(status, style)}`;
}

function mark(status: Health, style: Style): string {
  switch (status) {
    case "Healthy":
      return style.good(status);
    case "Unhealthy":
      return style.bad(status);
    case "Disabled":
      return style.dim(status);
  }
}

function roleText(role: string): string {
  return role === "ConsumerAndProvider" ? "Consumer and provider" : role;
}

function rangesText({ pod, external }: { pod: string[]; external: string[] }): string {
  return `pod ${pod.join(", ")}; external ${external.join(", ")}`;
}

function gatewayText({ role, address, port }: NonNullable<PeerInfo["network"]["gateway"]>): string {
  const where =
    address.length > 0 ? `${address.join(", ")}${port === undefined ? "" : ` port ${port}`}` : "no address yet";
  return role === "Client" ? `client of ${where}` : `server at ${where}`;
}

function pairs(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
