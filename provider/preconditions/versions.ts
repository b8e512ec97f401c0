import type { InstalledAgent } from "./agent.js";

export type VersionVerdict = "fit" | "refuse" | "warn";

/**
 * Two agents of ours must be of one minor version. A Liqo installation at the other end is taken with a warning, as is a version that cannot be
 * found out (control plane specification, §20).
 */
export function judgeVersions(a: InstalledAgent, b: InstalledAgent): VersionVerdict {
  if (!a.isOwn || !b.isOwn || a.version === undefined || b.version === undefined) return "warn";
  return minorOf(a.version) === minorOf(b.version) ? "fit" : "refuse";
}

/** "1.2" of "1.2.3", "v1.2.3-rc.1". */
export function minorOf(version: string): string {
  const match = /^v?(\d+)\.(\d+)/.exec(version);
  return match ? `${match[1]}.${match[2]}` : version;
}

/** "version 0.1.0", "Liqo version 1.2.0". */
export function describeVersion({ isOwn, version }: InstalledAgent): string {
  return `${isOwn ? "" : "Liqo "}version ${version ?? "unknown"}`;
}
