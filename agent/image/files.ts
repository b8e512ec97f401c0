import { statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Layer } from "../../test/clusters/images/archive.js";
import { copyFile, copyProgram, createRoot } from "../../test/clusters/images/rootfs.js";
import { sha256File } from "../../test/clusters/support/files.js";
import { ensurePrograms, which, type SystemProgram } from "../../test/clusters/support/packages.js";
import type { Progress } from "../../test/clusters/support/progress.js";

/** What the agent calls, and the Debian package of each. */
const PROGRAMS: readonly SystemProgram[] = [
  { program: "wg", package: "wireguard-tools" },
  { program: "nft", package: "nftables" },
  { program: "ip", package: "iproute2" },
  { program: "bridge", package: "iproute2" },
  { program: "conntrack", package: "conntrack" },
];

const BUNDLE_FOLDER = "/agent";
/** What the image starts. */
export const ENTRY_PATH = `${BUNDLE_FOLDER}/agent.cjs`;

/**
 * What the C library is told. Each program that is called leaves buffers behind, in the heap of whichever thread read them: without a bound
 * there is a heap for each thread, and without a threshold of its own the library raises it with every buffer and gives nothing back.
 */
export const ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "131072" };

/** All but the bundle: this machine's Node and the network programs, with the libraries they are linked with. */
export async function baseLayer(wireguardGo: string, progress: Progress): Promise<Layer> {
  await ensurePrograms(PROGRAMS, progress);
  const programs = PROGRAMS.map(({ program }) => ({ path: which(program) ?? "", target: `/usr/sbin/${program}` }));
  programs.push(
    { path: process.execPath, target: "/usr/bin/node" },
    { path: wireguardGo, target: "/usr/bin/wireguard-go" },
  );
  return {
    key: `agent-base 1 ${programs.map(({ path }) => stamp(path)).join(" ")}`,
    async write(root) {
      createRoot(root);
      for (const { path, target } of programs) await copyProgram(root, path, target);
      writeAccounts(root);
    },
  };
}

/** The bundle's files alone, so that a change of the agent's code changes a few megabytes. */
export async function bundleLayer(files: readonly string[]): Promise<Layer> {
  return {
    key: `agent-bundle ${(await Promise.all(files.map(sha256File))).join(" ")}`,
    async write(root) {
      for (const file of files) await copyFile(root, file, join(BUNDLE_FOLDER, basename(file)));
    },
  };
}

function writeAccounts(root: string): void {
  const file = (name: string, lines: string[]): void => writeFileSync(join(root, "etc", name), `${lines.join("\n")}\n`);
  file("passwd", ["root:x:0:0:root:/:/sbin/nologin", "agent:x:65532:65532:agent:/:/sbin/nologin"]);
  file("group", ["root:x:0:", "agent:x:65532:"]);
  file("nsswitch.conf", ["passwd: files", "group: files", "hosts: files dns"]);
  // nft knows protocols by these names.
  file("protocols", ["ip 0 IP", "icmp 1 ICMP", "tcp 6 TCP", "udp 17 UDP", "ipv6-icmp 58 IPv6-ICMP", "sctp 132 SCTP"]);
}

function stamp(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return `${path}:${size}:${mtimeMs}`;
}
