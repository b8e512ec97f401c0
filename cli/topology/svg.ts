import type { Topology } from "../../provider/functions/topology/schema.js";
import {
  AMOUNT_SIZE,
  CARD_WIDTH,
  COLUMNS,
  INNER,
  Lines,
  PADDING,
  SMALL_SIZE,
  TITLE_SIZE,
  cardOf,
  nodeHeight,
  type Card,
  type CardNode,
} from "./card.js";
import type { Amount } from "./amounts.js";
import { edgesOf, usesOther, type Edge } from "./edges.js";
import { placeCards, type Placed } from "./layout.js";
import { LABEL_SIZE, linesOf, type Line } from "./lines.js";
import { fitted, textWidth } from "./text-width.js";
import { styleSheet, type ThemeName } from "./theme.js";

const MARGIN = 40;
const LEGEND = 44;
const FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const ALMOST_FULL = 0.9;

/** The picture as an SVG document of its own, without scripts and references. */
export function topologySvg(topology: Topology, theme: ThemeName): string {
  const edges = edgesOf(topology);
  const placed = placeCards(
    topology.clusters.map((cluster) => cardOf(cluster, topology)),
    edges,
  );
  const lines = linesOf(edges, placed);
  const width = Math.max(560, Math.max(...placed.map(({ x }) => x)) + CARD_WIDTH + 2 * MARGIN);
  const height = Math.max(...placed.map(({ y, card }) => y + card.height)) + 2 * MARGIN + LEGEND;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n(width)} ${n(height)}" width="${n(width)}" height="${n(height)}" role="img" font-family="${FONT}">`,
    `<title>${escape(titleOf(topology))}</title>`,
    `<style>\n${styleSheet(theme)}\n</style>`,
    MARKERS,
    `<rect class="page" width="100%" height="100%"/>`,
    `<g transform="translate(${MARGIN} ${MARGIN})">`,
    ...lines.map(lineMark),
    ...placed.map(cardMark),
    ...lines.map(pillMark),
    `</g>`,
    legend(height),
    `</svg>\n`,
  ].join("\n");
}

function titleOf({ clusters, links, peerings }: Topology): string {
  const count = (amount: number, one: string): string => `${amount} ${one}${amount === 1 ? "" : "s"}`;
  return `${count(clusters.length, "cluster")}, ${count(links.length, "network")}, ${count(peerings.length, "peering")}`;
}

/** Arrows in the three colours; `context-stroke` is not known everywhere. */
const MARKERS = `<defs>${(["good", "bad", "off"] as const)
  .map(
    (status) =>
      `<marker id="arrow-${status}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="13" markerHeight="13" markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path class="dot-${status}" d="M0 0L10 5L0 10z"/></marker>`,
  )
  .join("")}</defs>`;

/** From the one that uses to the one that is used. */
function lineMark({ edge, status, from, to }: Line): string {
  const [a, b] = edge.clusters;
  const start = usesOther(edge, b) ? ` marker-start="url(#arrow-${status})"` : "";
  const end = usesOther(edge, a) ? ` marker-end="url(#arrow-${status})"` : "";
  const dashes = status === "good" ? "" : ` stroke-dasharray="${status === "bad" ? "7 5" : "2 5"}"`;
  return `<path class="line-${status}" d="M${n(from.x)} ${n(from.y)}L${n(to.x)} ${n(to.y)}" fill="none" stroke-width="2"${dashes}${start}${end}/>`;
}

function pillMark({ edge, status, label, pill }: Line): string {
  const middle = pill.x + pill.width / 2;
  return [
    `<g><title>${escape(describe(edge))}</title>`,
    `<rect class="pill line-${status}" x="${n(pill.x)}" y="${n(pill.y)}" width="${n(pill.width)}" height="${n(pill.height)}" rx="${n(pill.height / 2)}"/>`,
    `<text class="text" x="${n(middle)}" y="${n(pill.y + 16)}" font-size="${LABEL_SIZE}" text-anchor="middle">${escape(label)}</text></g>`,
  ].join("");
}

/** What a reader gets to know who points at a line. */
function describe({ clusters, link, peerings }: Edge): string {
  const alerts = [...(link?.alerts ?? []), ...peerings.flatMap((peering) => peering.alerts ?? [])];
  return [
    link ? `network between ${clusters.join(" and ")}: ${link.status}` : `no network between ${clusters.join(" and ")}`,
    ...(link?.server ? [`gateway server: ${link.server}`] : []),
    ...peerings.map(({ consumer, provider, offloadingStatus }) => `${consumer} uses ${provider}: ${offloadingStatus}`),
    ...alerts,
  ].join("\n");
}

function cardMark({ card, x, y }: Placed): string {
  const { status, title, lines, nodes, height } = card;
  let at = PADDING;
  const parts = title.map((text) => {
    at += Lines.title;
    return label("text", PADDING + 18, at - 5, TITLE_SIZE, text, ' font-weight="600"');
  });
  for (const { text, isWarning } of lines) {
    at += Lines.small;
    parts.push(label(isWarning ? "warn" : "dim", PADDING, at - 2, SMALL_SIZE, text));
  }
  for (const node of nodes) {
    parts.push(nodeMark(node, at));
    at += nodeHeight(node);
  }
  return [
    `<g transform="translate(${n(x)} ${n(y)})"><title>${escape(hintOf(card))}</title>`,
    `<rect class="card" width="${CARD_WIDTH}" height="${n(height)}" rx="10"/>`,
    `<circle class="dot-${status}" cx="${PADDING + 5}" cy="${PADDING + 9}" r="5"/>`,
    ...parts,
    `</g>`,
  ].join("\n");
}

function hintOf({ cluster: { clusterID, error, APIServerAddr, labels = {}, notVisible = [] } }: Card): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [clusterID, error, APIServerAddr, ...pairs, ...notVisible].filter(Boolean).join("\n");
}

function nodeMark(node: CardNode, top: number): string {
  const { name, provider, status, amounts } = node;
  const text = name === provider ? name : `${name} of ${provider}`;
  const rows = amounts.flatMap((row, index) =>
    row.map((amount, column) => amountMark(amount, column, top + Lines.nodeTop + Lines.small + index * Lines.amount)),
  );
  return [
    `<path class="rule" d="M${PADDING} ${n(top + 9)}H${CARD_WIDTH - PADDING}"/>`,
    `<circle class="dot-${status}" cx="${PADDING + 4}" cy="${n(top + 23)}" r="3.5"/>`,
    label("text", PADDING + 14, top + 27, SMALL_SIZE, fitted(text, SMALL_SIZE, INNER - 14)),
    ...rows,
  ].join("\n");
}

function amountMark({ label: name, text, share }: Amount, column: number, top: number): string {
  const gap = 12;
  const width = (INNER - gap * (COLUMNS - 1)) / COLUMNS;
  const x = PADDING + column * (width + gap);
  const words = label("dim", x, top + 10, AMOUNT_SIZE, fitted(`${name} ${text}`, AMOUNT_SIZE, width + 8));
  if (share === undefined) return words;
  const bar = `bar${share >= ALMOST_FULL ? "-full" : ""}`;
  return [
    words,
    `<rect class="track" x="${n(x)}" y="${n(top + 15)}" width="${n(width)}" height="5" rx="2.5"/>`,
    ...(share > 0
      ? [
          `<rect class="${bar}" x="${n(x)}" y="${n(top + 15)}" width="${n(Math.max(5, width * share))}" height="5" rx="2.5"/>`,
        ]
      : []),
  ].join("");
}

/** What lines and bars stand for. */
function legend(height: number): string {
  const y = height - 26;
  const entries: [string, (x: number) => string, number][] = [
    [
      "uses resources of",
      (x) => `<path class="line-good" d="M${x} ${y}h34" stroke-width="2" marker-end="url(#arrow-good)"/>`,
      44,
    ],
    [
      "something is wrong",
      (x) => `<path class="line-bad" d="M${x} ${y}h34" stroke-width="2" stroke-dasharray="7 5"/>`,
      44,
    ],
    [
      "asked for by pods, of what is granted",
      (x) =>
        `<rect class="track" x="${x}" y="${y - 3}" width="34" height="5" rx="2.5"/><rect class="bar" x="${x}" y="${y - 3}" width="14" height="5" rx="2.5"/>`,
      44,
    ],
  ];
  let x = MARGIN;
  return entries
    .map(([text, sign, offset]) => {
      const mark = `${sign(x)}${label("dim", x + offset, y + 4, SMALL_SIZE, text)}`;
      x += offset + textWidth(text, SMALL_SIZE) + 22;
      return mark;
    })
    .join("\n");
}

function label(style: string, x: number, y: number, size: number, text: string, more = ""): string {
  return `<text class="${style}" x="${n(x)}" y="${n(y)}" font-size="${size}"${more}>${escape(text)}</text>`;
}

/** At most one decimal: enough for the eye, and the same picture each time. */
function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escape(text: string): string {
  // Control characters are not allowed in XML at all.
  const allowed = text.replace(/\p{Cc}/gu, (one) => (one === "\n" ? one : " "));
  return allowed.replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
}
