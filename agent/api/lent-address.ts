import type { IP } from "./ipam.js";
import { Labels } from "./labels.js";

/** Whether peers reach what an IP stands for by its address: it has one, and is not for the address alone (network specification, §4). */
export function isLent({ metadata, status }: IP): boolean {
  return Boolean(status?.ip) && !metadata.deletionTimestamp && metadata.labels?.[Labels.hostUnreachable] !== "true";
}
