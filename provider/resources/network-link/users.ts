import { MANAGER } from "../tenant-namespace/index.js";
import type { LinkEnd } from "./ends.js";

/** Prefix of the annotations on Configurations that name the NetworkLinks using them, by their consumer: both directions share one link. */
const PREFIX = "link.pulumi-liqo/";

/** The mark of a NetworkLink that uses the link. */
export const IN_USE = "true";
/** The mark of one that has gone, and has left the link to the other direction. */
export const LEFT = "left";

type Direction = Pick<LinkEnd, "side" | "clusterId" | "remoteId">;

/** The mark of the direction that an end belongs to. */
export function linkAnnotation(end: Direction): string {
  return PREFIX + consumerOf(end);
}

/** Each direction owns its mark as a field manager of its own, so neither drops the other's. */
export function directionManager(end: Direction): string {
  return `${MANAGER}/${consumerOf(end)}`;
}

/** Whether a NetworkLink of the other direction uses the link, too. */
export function isUsedByReverse(end: Direction, annotations: Record<string, string> = {}): boolean {
  return reverseMarks(end, annotations).includes(IN_USE);
}

/** Whether a NetworkLink of the other direction has left the link to this one. */
export function isLeftByReverse(end: Direction, annotations: Record<string, string> = {}): boolean {
  return reverseMarks(end, annotations).includes(LEFT);
}

/** Whether a NetworkLink of the other direction has anything to do with the link, or had. */
export function isOfReverse(end: Direction, annotations: Record<string, string> = {}): boolean {
  return isUsedByReverse(end, annotations) || isLeftByReverse(end, annotations);
}

/** Whether the NetworkLink of this consumer uses the link. */
export function isInUseBy(consumerId: string, annotations: Record<string, string> = {}): boolean {
  return annotations[PREFIX + consumerId] === IN_USE;
}

function reverseMarks(end: Direction, annotations: Record<string, string>): string[] {
  return Object.entries(annotations)
    .filter(([key]) => key.startsWith(PREFIX) && key !== linkAnnotation(end))
    .map(([, mark]) => mark);
}

export function consumerOf({ side, clusterId, remoteId }: Direction): string {
  return side === "consumer" ? clusterId : remoteId;
}
