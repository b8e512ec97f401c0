import { readFileSync, writeFileSync } from "node:fs";
import { buildAgentImage } from "../agent/image/build.js";
import { ensureTools, lineProgress, prepareClusters, pulumiFolder } from "./clusters/index.js";
import { ensurePrograms } from "./clusters/support/packages.js";

/** What the tests run besides clusters, and the Debian package of each. */
const PROGRAMS = [
  { program: "wg", package: "wireguard-tools" },
  { program: "unshare", package: "util-linux" },
  { program: "tcpdump", package: "tcpdump" },
];

/** Watchers of files per user: many systems allow 128, little more than the largest test takes. Until the next boot. */
const INOTIFY_INSTANCES = { file: "/proc/sys/fs/inotify/max_user_instances", needed: 512 };

/**
 * Installs, fetches or builds whatever the integration and end-to-end tests need, ahead of them: from cold it takes longer
 * than any test may. With everything in the cache it takes a second.
 */
const progress = lineProgress();
raiseInotifyLimit();
await ensurePrograms(PROGRAMS, progress);
await ensureTools(["etcd", "kube-apiserver", "kubectl", "helm", "wireguard-go"], { progress });
await pulumiFolder(progress);
await prepareClusters({ progress });
await buildAgentImage({ progress });

function raiseInotifyLimit(): void {
  const { file, needed } = INOTIFY_INSTANCES;
  try {
    if (Number(readFileSync(file, "utf8")) >= needed) return;
    writeFileSync(file, `${needed}\n`);
    progress.note(`fs.inotify.max_user_instances is ${needed} now: the tests run several clusters at once`);
  } catch {
    // Not Linux, or not ours to set: bringing clusters up warns where it is too low.
  }
}
