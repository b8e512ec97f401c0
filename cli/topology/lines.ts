import { CARD_WIDTH } from "./card.js";
import { labelOf, statusOf, type Edge, type LineStatus } from "./edges.js";
import type { Placed } from "./layout.js";
import { textWidth } from "./text-width.js";

interface Point {
  x: number;
  y: number;
}

interface Box extends Point {
  width: number;
  height: number;
}

export const LABEL_SIZE = 12;
const LABEL_HEIGHT = 24;

/** The line of an edge, with the pill that stands on it. */
export interface Line {
  edge: Edge;
  status: LineStatus;
  from: Point;
  to: Point;
  label: string;
  pill: Box;
}

const POSITIONS = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];

/** Lines from border to border, their pills where they cover neither a card nor each other, as far as there is room. */
export function linesOf(edges: readonly Edge[], placed: readonly Placed[]): Line[] {
  const boxes = new Map(placed.map((one) => [one.card.cluster.clusterID, boxOf(one)]));
  const taken: Box[] = [...boxes.values()];
  return edges.flatMap((edge) => {
    const [a, b] = edge.clusters.map((id) => boxes.get(id));
    if (!a || !b) return [];
    const [from, to] = joined(a, b);
    const label = labelOf(edge);
    const size = { width: textWidth(label, LABEL_SIZE) + 22, height: LABEL_HEIGHT };
    const pills = POSITIONS.map((part) => around(between(from, to, part), size));
    const pill =
      pills.find((one) => !taken.some((other) => overlap(one, other))) ?? around(between(from, to, 0.5), size);
    taken.push(pill);
    return [{ edge, status: statusOf(edge), from, to, label, pill }];
  });
}

function boxOf({ x, y, card: { height } }: Placed): Box {
  return { x, y, width: CARD_WIDTH, height };
}

function centre({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Where two boxes are joined: at their sides where there is room between them, else from the lower edge of one to the upper edge of the other. */
function joined(a: Box, b: Box): [Point, Point] {
  const [left, right] = a.x <= b.x ? [a, b] : [b, a];
  const isBeside = right.x - (left.x + left.width) >= MIN_ROOM;
  const ends: [Point, Point] = isBeside
    ? [
        { x: left.x + left.width, y: nearest(left, centre(right).y) },
        { x: right.x, y: nearest(right, centre(left).y) },
      ]
    : aboveEachOther(left, right);
  return left === a ? ends : [ends[1], ends[0]];
}

const MIN_ROOM = 30;

/** At the height of the other end, as far as the box reaches. */
function nearest(box: Box, y: number): number {
  const reach = box.height / 2 - 22;
  const middle = centre(box).y;
  return middle + Math.max(-reach, Math.min(reach, y - middle));
}

function aboveEachOther(left: Box, right: Box): [Point, Point] {
  const x = (right.x + Math.min(left.x + left.width, right.x + right.width)) / 2;
  const at = (box: Box, other: Box): Point => ({
    x: nearestX(box, x),
    y: box.y < other.y ? box.y + box.height : box.y,
  });
  return [at(left, right), at(right, left)];
}

function nearestX({ x, width }: Box, wanted: number): number {
  return Math.max(x + 22, Math.min(x + width - 22, wanted));
}

function between(from: Point, to: Point, part: number): Point {
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

function around({ x, y }: Point, { width, height }: { width: number; height: number }): Box {
  return { x: x - width / 2, y: y - height / 2, width, height };
}

function overlap(a: Box, b: Box): boolean {
  const margin = 4;
  return (
    a.x < b.x + b.width + margin &&
    b.x < a.x + a.width + margin &&
    a.y < b.y + b.height + margin &&
    b.y < a.y + a.height + margin
  );
}
