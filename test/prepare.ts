import { buildAgentImage } from "../agent/image/build.js";
import { ensureTools, lineProgress, prepareClusters, pulumiFolder } from "./clusters/index.js";
import { ensurePrograms } from "./clusters/support/packages.js";

/** What the tests run besides clusters, and the Debian package of each. */
const PROGRAMS = [
  { program: "wg", package: "wireguard-tools" },
  { program: "unshare", package: "util-linux" },
  { program: "tcpdump", package: "tcpdump" },
];

/**
 * Installs, fetches or builds whatever the integration and end-to-end tests need, ahead of them: from cold it takes longer
 * than any test may. With everything in the cache it takes a second.
 */
const progress = lineProgress();
await ensurePrograms(PROGRAMS, progress);
await ensureTools(["etcd", "kube-apiserver", "kubectl", "wireguard-go"], { progress });
await pulumiFolder(progress);
await prepareClusters({ progress });
await buildAgentImage({ progress });
