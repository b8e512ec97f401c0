import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** Measured on Kubernetes 1.36: the control plane's and each node's programs. */
const PER_CLUSTER = 14;
const PER_NODE = 8;
const LIMIT = "/proc/sys/fs/inotify/max_user_instances";

/**
 * A warning when the machine has too few inotify instances left for what is about to start, or undefined. Every program
 * of a cluster watches files, and many systems allow 128 watchers per user: kubelet and containerd fail without. The
 * limit is the whole machine's, so it is left to its owner.
 */
export function inotifyWarning(clusters: number, nodes: number): string | undefined {
  const limit = Number(readFileSync(LIMIT, "utf8"));
  const used = instancesInUse();
  const needed = clusters * PER_CLUSTER + nodes * PER_NODE;
  if (used + needed <= limit) return undefined;
  return (
    `warning: about ${needed} more inotify instances are needed, ${used} of ${limit} are in use: the clusters may not start. ` +
    `Take others down, or raise the limit: sysctl fs.inotify.max_user_instances=1024`
  );
}

function instancesInUse(): number {
  return entries("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => entries(`/proc/${pid}/fd`).map((file) => target(`/proc/${pid}/fd/${file}`)))
    .filter((file) => file === "anon_inode:inotify").length;
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}
