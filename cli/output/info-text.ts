import type { ClusterInfo, PeerInfo } from "../../provider/functions/info-schema.js";
import { boxes, wrap, type Section } from "./box.js";
import type { Style } from "./style.js";
import { indent, table } from "./table.js";
import { tree, type Branch } from "./tree.js";

type Health = PeerInfo["network"]["status"];
type Fact = [name: string, value: string];

/** What is wrong is told in sentences, which would make the frames as wide as they are long. */
const SENTENCE_WIDTH = 90;

const NOT_VISIBLE = "not visible";

/** What a person wants to know of an installation, in the sections that Liqo's tool has (command line and status specification). */
export function clusterText(info: ClusterInfo, style: Style): string {
  const { local, network, notVisible } = info;
  const own: Fact[] = [
    ["Cluster ID", style.bold(local.clusterID)],
    ["Version", local.version || "unknown"],
    ["API server", local.APIServerAddr],
    ["Labels", pairs(local.labels) || (notVisible ? NOT_VISIBLE : "none")],
    ...(network ? rangeFacts(network) : [["Network", "disabled"] satisfies Fact]),
  ];
  const sections = [
    { title: "Local installation info", lines: factLines(own, style) },
    { title: "Installation health", lines: healthLines(info.health, style) },
    { title: "Active peerings", lines: peeringLines(info.peerings.peers, style) },
    ...hiddenSections(notVisible),
  ];
  return `${boxes(sections, style)}\n`;
}

/** What the credentials may not see, where there is any such. */
function hiddenSections(notVisible: readonly string[] = []): Section[] {
  const lines = notVisible.flatMap((sentence) => wrap(sentence, SENTENCE_WIDTH));
  return lines.length > 0 ? [{ title: "Not visible with these credentials", lines }] : [];
}

function rangeFacts(network: NonNullable<ClusterInfo["network"]>): Fact[] {
  return [
    ["Pod CIDRs", network.podCIDRs.join(", ")],
    ["Service CIDR", network.serviceCIDR],
    ["External CIDR", network.externalCIDR],
    ["Internal CIDR", network.internalCIDR],
  ];
}

function healthLines({ healthy, unhealthyPods = {} }: ClusterInfo["health"], style: Style): string[] {
  if (healthy === undefined) return [NOT_VISIBLE];
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

/** Peers in full, four sections each. */
export function peersText(peers: Record<string, PeerInfo>, style: Style): string {
  const all = Object.values(peers);
  if (all.length === 0) return "The cluster has no peers.\n";
  return `${all.map((peer) => boxes(peerSections(peer, style), style)).join("\n\n")}\n`;
}

function peerSections({ info, network, authentication, offloading, notVisible }: PeerInfo, style: Style): Section[] {
  const peer: Fact[] = [
    ["Cluster ID", style.bold(info.clusterID)],
    ["Role", roleText(info.role)],
  ];
  return [
    { title: "Peer cluster info", lines: factLines(peer, style) },
    { title: "Network", lines: moduleLines(network, networkFacts(network), style) },
    {
      title: "Authentication",
      lines: [
        ...moduleLines(authentication, given("API server", authentication.APIServerAddr), style),
        ...listLines(
          "Resource slices",
          authentication.resourceSlices.map((slice) => sliceBranch(slice, style)),
          style,
        ),
      ],
    },
    {
      title: "Offloading",
      lines: [
        ...moduleLines(offloading, [], style),
        ...listLines(
          "Virtual nodes",
          offloading.virtualNodes.map((node) => nodeBranch(node, style)),
          style,
        ),
      ],
    },
    ...hiddenSections(notVisible),
  ];
}

/** A module's state, what is wrong with it, and the rest. */
function moduleLines(module: { status: Health; alerts?: string[] }, facts: Fact[], style: Style): string[] {
  const [status = "", ...others] = factLines([["Status", mark(module.status, style)], ...facts], style);
  return [status, ...(module.alerts ?? []).flatMap((alert) => alertLines(alert, style)), ...others];
}

function networkFacts({ CIDRs: { remote, remapped }, gateway }: PeerInfo["network"]): Fact[] {
  const range = (kind: "pod" | "external"): string => {
    const [own, ours] = [remote, remapped].map((ranges) => ranges?.[kind].join(", "));
    return own === ours ? (own ?? "") : [own, ours].filter(Boolean).join(", remapped to ");
  };
  return [
    ...given("Pod CIDR", range("pod")),
    ...given("External CIDR", range("external")),
    ...(gateway ? gatewayFacts(gateway) : []),
  ];
}

function gatewayFacts({ role, address, port }: NonNullable<PeerInfo["network"]["gateway"]>): Fact[] {
  return [
    ["Gateway", role],
    ["Gateway address", address.join(", ") || "none yet"],
    ...given("Gateway port", port === undefined ? "" : String(port)),
  ];
}

function sliceBranch(slice: PeerInfo["authentication"]["resourceSlices"][number], style: Style): Branch {
  const facts: Fact[] = [
    ["Action", slice.action],
    ["Accepted", slice.accepted ? style.good("yes") : style.bad("no")],
    ...given("Resources", amounts(slice.resources)),
  ];
  const alerts = (slice.alerts ?? []).map((alert) => ({ text: alertLines(alert, style).join("\n") }));
  return { text: slice.name, children: [...alerts, ...factBranches(facts, style)] };
}

function nodeBranch(node: PeerInfo["offloading"]["virtualNodes"][number], style: Style): Branch {
  const facts: Fact[] = [
    ["Status", mark(node.status, style)],
    ["Secret", node.secret],
    ...given("Resource slice", node.resourceSlice),
    ...given("Resources", amounts(node.resources)),
  ];
  return { text: node.name, children: factBranches(facts, style) };
}

function listLines(title: string, children: readonly Branch[], style: Style): string[] {
  return children.length === 0 ? [] : tree({ text: style.dim(title), children });
}

/** Names and values in two columns. */
function factLines(facts: readonly Fact[], style: Style): string[] {
  return table(facts.map(([name, value]) => [style.dim(name), value]));
}

function factBranches(facts: readonly Fact[], style: Style): Branch[] {
  return factLines(facts, style).map((text) => ({ text }));
}

function given(name: string, value: string | undefined): Fact[] {
  return value ? [[name, value]] : [];
}

function alertLines(alert: string, style: Style): string[] {
  const [first = "", ...rest] = wrap(alert, SENTENCE_WIDTH);
  return [`${style.bad("!")} ${first}`, ...indent(rest)];
}

function amounts(resources: Record<string, string>): string {
  return Object.entries(resources)
    .map(([name, amount]) => `${name} ${amount}`)
    .join(", ");
}

function mark(status: Health, style: Style): string {
  switch (status) {
    case "Healthy":
      return style.good(status);
    case "Unhealthy":
      return style.bad(status);
    case "Disabled":
    case "Unknown":
      return style.dim(status);
  }
}

function roleText(role: string): string {
  return role === "ConsumerAndProvider" ? "Consumer and provider" : role;
}

function pairs(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
