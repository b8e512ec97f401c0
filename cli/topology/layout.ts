import { CARD_WIDTH, type Card } from "./card.js";
import { usesOther, type Edge } from "./edges.js";

export interface Placed {
  card: Card;
  /** The upper left corner. */
  x: number;
  y: number;
}

const GAP_X = 190;
/** More for each line beyond the first four, so that their pills find room. */
const GAP_PER_LINE = 14;
const GAP_Y = 36;
const BETWEEN = 72;
const MAX_WIDTH = 1700;

/** Places the cards: clusters that are joined together, groups that are not beside or below each other. */
export function placeCards(cards: readonly Card[], edges: readonly Edge[]): Placed[] {
  const groups = groupsOf(cards, edges).map((group) => placeGroup(group, edges));
  groups.sort((a, b) => b.length - a.length);
  return shelve(groups);
}

/** Sets of clusters that are joined, directly or not; neighbours beside each other. */
function groupsOf(cards: readonly Card[], edges: readonly Edge[]): Card[][] {
  const left = new Map(cards.map((card) => [card.cluster.clusterID, card]));
  const visit = (id: string): Card[] => {
    const card = left.get(id);
    if (!card) return [];
    left.delete(id);
    const neighbours = edges
      .filter(({ clusters }) => clusters.includes(id))
      .map(({ clusters: [a, b] }) => (a === id ? b : a));
    return [card, ...neighbours.flatMap(visit)];
  };
  return cards.map(({ cluster }) => visit(cluster.clusterID)).filter((group) => group.length > 0);
}

function placeGroup(group: Card[], edges: readonly Edge[]): Placed[] {
  const ids = new Set(group.map(({ cluster }) => cluster.clusterID));
  const own = edges.filter(({ clusters }) => ids.has(clusters[0]));
  if (group.length <= 2) return columns(bySide(group, own), GAP_X);
  const hub = group.find(({ cluster }) => own.every(({ clusters }) => clusters.includes(cluster.clusterID)));
  if (hub) return aroundHub(hub, group);
  const sides = bySide(group, own);
  const isTwoSided = own.every(({ clusters: [a, b] }) => sideOf(sides, a) !== sideOf(sides, b));
  if (!isTwoSided) return circle(group);
  return columns(sides, GAP_X + GAP_PER_LINE * Math.max(0, own.length - 4));
}

/** Those that use others' resources to the left. */
function bySide(group: Card[], edges: readonly Edge[]): Card[][] {
  const isConsumer = ({ cluster: { clusterID } }: Card): boolean => edges.some((edge) => usesOther(edge, clusterID));
  const isProvider = ({ cluster: { clusterID } }: Card): boolean =>
    edges.some((edge) => edge.peerings.some(({ provider }) => provider === clusterID));
  const left = group.filter((card) => isConsumer(card) && !isProvider(card));
  const rest = group.filter((card) => !left.includes(card));
  if (left.length > 0 && rest.length > 0) return [left, rest];
  return group.length === 2 ? group.map((card) => [card]) : [group];
}

function sideOf(sides: Card[][], id: string): number {
  return sides.findIndex((side) => side.some(({ cluster }) => cluster.clusterID === id));
}

/** Columns from left to right, each centred. */
function columns(sides: Card[][], gap: number): Placed[] {
  const heights = sides.map(heightOf);
  const tallest = Math.max(...heights);
  return sides.flatMap((side, column) => {
    let y = (tallest - (heights[column] ?? 0)) / 2;
    return side.map((card) => {
      const placed = { card, x: column * (CARD_WIDTH + gap), y };
      y += card.height + GAP_Y;
      return placed;
    });
  });
}

function heightOf(cards: readonly Card[]): number {
  return cards.reduce((sum, { height }) => sum + height, 0) + GAP_Y * Math.max(0, cards.length - 1);
}

/** The hub in the middle, half of the others on each side. */
function aroundHub(hub: Card, group: Card[]): Placed[] {
  const others = group.filter((card) => card !== hub);
  const half = Math.floor(others.length / 2);
  return columns([others.slice(0, half), [hub], others.slice(half)], GAP_X);
}

/** On an ellipse, as small as it may be without cards touching. */
function circle(group: Card[]): Placed[] {
  for (let radius = 180; ; radius += 20) {
    const placed = group.map((card, index) => {
      const angle = (2 * Math.PI * index) / group.length - Math.PI / 2;
      const x = Math.cos(angle) * radius * 1.5 - CARD_WIDTH / 2;
      return { card, x, y: Math.sin(angle) * radius - card.height / 2 };
    });
    if (!placed.some((one, index) => placed.slice(index + 1).some((other) => areClose(one, other)))) {
      return fromOrigin(placed);
    }
  }
}

function areClose(a: Placed, b: Placed): boolean {
  const apartX = Math.abs(a.x - b.x) >= CARD_WIDTH + 90;
  const apartY = a.y + a.card.height + 56 <= b.y || b.y + b.card.height + 56 <= a.y;
  return !apartX && !apartY;
}

function fromOrigin(placed: Placed[]): Placed[] {
  const [left, top] = [Math.min(...placed.map(({ x }) => x)), Math.min(...placed.map(({ y }) => y))];
  return placed.map((one) => ({ ...one, x: one.x - left, y: one.y - top }));
}

/** Groups side by side, in as many rows as the width asks for. */
function shelve(groups: Placed[][]): Placed[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return groups.flatMap((group) => {
    const width = Math.max(...group.map((one) => one.x)) + CARD_WIDTH;
    const height = Math.max(...group.map((one) => one.y + one.card.height));
    if (x > 0 && x + width > MAX_WIDTH) [x, y, rowHeight] = [0, y + rowHeight + BETWEEN, 0];
    const moved = group.map((one) => ({ ...one, x: one.x + x, y: one.y + y }));
    x += width + BETWEEN;
    rowHeight = Math.max(rowHeight, height);
    return moved;
  });
}
