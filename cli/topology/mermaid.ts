import type { Topology, TopologyCluster, TopologyPeering } from "../../provider/functions/topology/schema.js";
import { amountsOf } from "./amounts.js";
import { edgesOf, labelOf, statusOf, type Edge } from "./edges.js";

/** The picture as a Mermaid flowchart, as GitHub and GitLab draw them in Markdown. */
export function topologyMermaid(topology: Topology): string {
  const names = new Map(topology.clusters.map(({ clusterID }, index) => [clusterID, `c${index}`]));
  const nodes = topology.clusters.map((cluster) => `  ${names.get(cluster.clusterID) ?? ""}["${nodeText(cluster)}"]`);
  const drawn = edgesOf(topology).flatMap((edge) => arrowsOf(edge, names));
  const classes = topology.clusters.map(
    (cluster) => `  class ${names.get(cluster.clusterID) ?? ""} ${classOf(cluster)}`,
  );
  const wrong = drawn.flatMap(({ isWrong }, index) => (isWrong ? [`  linkStyle ${index} stroke:#cf222e`] : []));
  return [
    "flowchart LR",
    ...nodes,
    ...drawn.map(({ text }) => `  ${text}`),
    "  classDef healthy stroke:#1a7f37,stroke-width:2px",
    "  classDef unhealthy stroke:#cf222e,stroke-width:2px",
    "  classDef unknown stroke:#818b98,stroke-dasharray:4 3",
    ...classes,
    ...wrong,
    "",
  ].join("\n");
}

function nodeText({ clusterID, version, error, asked, podCIDRs = [] }: TopologyCluster): string {
  const facts =
    error ??
    (asked ? [version, podCIDRs.length > 0 && `pods ${podCIDRs.join(", ")}`].filter(Boolean).join(", ") : "not asked");
  return `<b>${quoted(clusterID)}</b><br/>${quoted(facts)}`;
}

function classOf({ error, asked, healthy, notVisible }: TopologyCluster): string {
  if (error !== undefined || healthy === false) return "unhealthy";
  return asked && !notVisible ? "healthy" : "unknown";
}

/** One arrow for each direction, or a plain line where nobody uses anything. */
function arrowsOf(edge: Edge, names: Map<string, string>): { text: string; isWrong: boolean }[] {
  const { clusters, peerings } = edge;
  const isWrong = statusOf(edge) === "bad";
  const name = (id: string): string => names.get(id) ?? "";
  if (peerings.length === 0) {
    return [{ text: `${name(clusters[0])} ---|"${quoted(labelOf(edge))}"| ${name(clusters[1])}`, isWrong }];
  }
  return peerings.map((peering) => ({
    text: `${name(peering.consumer)} ==>|"${[labelOf(edge), ...granted(peering)].map(quoted).join("<br/>")}"| ${name(peering.provider)}`,
    isWrong,
  }));
}

function granted({ provider, virtualNodes }: TopologyPeering): string[] {
  return virtualNodes.map((node) => {
    const amounts = amountsOf(node).map(({ label, text }) => `${label} ${text}`);
    return `${node.name === provider ? "" : `${node.name}: `}${amounts.join(", ")}`;
  });
}

/** Texts stand in quotes and are HTML. */
function quoted(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/&/g, "#amp;")
    .replace(/"/g, "#quot;")
    .replace(/</g, "#lt;")
    .replace(/>/g, "#gt;");
}
