import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { tryRun } from "../support/exec.js";

/** Folders of the machine that programs of a node write to whatever their configuration says. */
const NETNS = "/run/netns";
/** The kubelet's links to its containers' logs. */
const LOG_LINKS = "/var/log/containers";
/** What the CNI library remembers of each pod's network. */
const CNI = "/var/lib/cni";
/** The kubelet's socket for device plugins. */
const KUBELET = "/var/lib/kubelet";

/** Those of them that this machine does not have yet; the last cluster takes them away again. */
export function absentFolders(): string[] {
  return [NETNS, LOG_LINKS, CNI, KUBELET].filter((folder) => !existsSync(folder));
}

/** Removes what the programs of one cluster, which have ended, left there: `owned` tells its folders. */
export function removeTraces(owned: readonly string[]): void {
  const isOwned = (text: string): boolean => owned.some((folder) => text.includes(`${folder}/`));
  for (const path of entries(LOG_LINKS)) {
    if (lstatSync(path).isSymbolicLink() && isOwned(readlinkSync(path))) unlinkSync(path);
  }
  for (const path of entries(join(CNI, "results"))) {
    if (isOwned(readFileSync(path, "utf8"))) unlinkSync(path);
  }
}

/** Removes those folders that were made for the clusters, as far as nobody else has put anything into them. */
export async function removeFolders(created: readonly string[]): Promise<void> {
  // `ip netns add` leaves the folder mounted on itself.
  if (created.includes(NETNS) && entries(NETNS).length === 0) await tryRun("umount", [NETNS]);
  if (created.includes(KUBELET)) rmSync(join(KUBELET, "device-plugins/kubelet.sock"), { force: true });
  for (const folder of created) removeEmpty(folder);
}

/** Removes a folder with all empty ones below it; one in use by others stays. */
export function removeEmpty(folder: string): void {
  for (const path of entries(folder)) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) removeEmpty(path);
  }
  removeIfEmpty(folder);
}

/** Removes a folder that has nothing in it. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Not empty, a mount of somebody else's, or never made.
  }
}

function entries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((entry) => join(folder, entry)) : [];
}
