import type { Topology, TopologyCluster, TopologyNode } from "../../provider/functions/topology/schema.js";
import { amountsOf, type Amount } from "./amounts.js";
import type { LineStatus } from "./edges.js";
import { wrapped } from "./text-width.js";

export const CARD_WIDTH = 300;
export const PADDING = 16;
export const INNER = CARD_WIDTH - 2 * PADDING;
export const COLUMNS = 3;
export const TITLE_SIZE = 15;
/** Bold type is wider. */
const BOLD = 1.15;
export const SMALL_SIZE = 11.5;
export const AMOUNT_SIZE = 10.5;

const TITLE_LINE = 19;
const SMALL_LINE = 16;
const AMOUNT_LINE = 26;
/** Above and below a node's name. */
const NODE_TOP = 20;

/** A row of the resources of a node: a text over a bar, three side by side. */
export interface CardNode {
  name: string;
  provider: string;
  status: LineStatus;
  amounts: Amount[][];
}

/** What the card of a cluster shows, and how high it is. */
export interface Card {
  cluster: TopologyCluster;
  status: LineStatus;
  title: string[];
  lines: { text: string; isWarning: boolean }[];
  nodes: CardNode[];
  height: number;
}

export function cardOf(cluster: TopologyCluster, { peerings }: Topology): Card {
  const title = wrapped(cluster.clusterID, TITLE_SIZE * BOLD, INNER - 18, 3);
  const lines = linesOf(cluster);
  const nodes = peerings
    .filter(({ consumer }) => consumer === cluster.clusterID)
    .flatMap(({ provider, virtualNodes }) => virtualNodes.map((node) => nodeOf(node, provider)));
  const height =
    2 * PADDING +
    title.length * TITLE_LINE +
    lines.length * SMALL_LINE +
    nodes.reduce((sum, node) => sum + nodeHeight(node), 0);
  return { cluster, status: statusOf(cluster), title, lines, nodes, height };
}

export function nodeHeight({ amounts }: CardNode): number {
  return NODE_TOP + SMALL_LINE + amounts.length * AMOUNT_LINE;
}

export const Lines = { title: TITLE_LINE, small: SMALL_LINE, amount: AMOUNT_LINE, nodeTop: NODE_TOP } as const;

function statusOf({ asked, error, healthy, notVisible }: TopologyCluster): LineStatus {
  if (error !== undefined || healthy === false) return "bad";
  return asked && !notVisible ? "good" : "off";
}

function linesOf({ asked, error, healthy, version, labels, podCIDRs, notVisible }: TopologyCluster): Card["lines"] {
  if (error !== undefined) return wrapped(error, SMALL_SIZE, INNER, 3).map((text) => ({ text, isWarning: true }));
  if (!asked) return [{ text: "known from its peers, not asked", isWarning: false }];
  const facts = [version, labels?.["topology.kubernetes.io/region"], podCIDRs && `pods ${podCIDRs.join(", ")}`];
  const [text = ""] = wrapped(facts.filter(Boolean).join(" · "), SMALL_SIZE, INNER, 1);
  return [
    { text, isWarning: false },
    ...(notVisible ? [{ text: "only in part visible with these credentials", isWarning: false }] : []),
    ...(healthy === false ? [{ text: "some pods of its agent are not ready", isWarning: true }] : []),
  ];
}

function nodeOf(node: TopologyNode, provider: string): CardNode {
  const all = amountsOf(node);
  const rows = Array.from({ length: Math.ceil(all.length / COLUMNS) }, (_, row) =>
    all.slice(row * COLUMNS, (row + 1) * COLUMNS),
  );
  const status = ({ Healthy: "good", Unhealthy: "bad", Disabled: "off", Unknown: "off" } as const)[node.status];
  return { name: node.name, provider, status, amounts: rows };
}
