import { MANAGER } from "../tenant-namespace/index.js";
import type { LinkEnd } from "./ends.js";

/** Prefix of the annotations on Configurations that name the NetworkLinks using them, by their consumer: both directions share one link. */
const PREFIX = "link.pulumi-liqo/";

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
  return Object.keys(annotations).some((key) => key.startsWith(PREFIX) && key !== linkAnnotation(end));
}

function consumerOf({ side, clusterId, remoteId }: Direction): string {
  return side === "consumer" ? clusterId : remoteId;
}
