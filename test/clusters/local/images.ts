import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { ensureTool } from "../components/ensure.js";
import { run } from "../support/exec.js";
import { readJson, writeAtomically } from "../support/files.js";
import { clusterPaths, containerdSocket } from "./paths.js";
import type { ClusterRecord, NodeRecord } from "./record.js";

/** What was loaded into a node: image archive → its size and time, and the images it held. */
type Loaded = Record<string, { stamp: string; refs: string[] }>;

const ctr = async (node: NodeRecord, args: string[]): Promise<string> =>
  run(await ensureTool("ctr"), ["--address", containerdSocket(node.name), "--namespace", "k8s.io", ...args], {
    timeout: 120_000,
  });

/** Loads image archives into a node's containerd; those it holds already, unchanged, are skipped. */
export async function loadImages(
  record: ClusterRecord,
  node: NodeRecord,
  archives: readonly string[],
): Promise<number> {
  const path = join(clusterPaths(record.spec.name).node(node.name), "images.json");
  const loaded = readJson<Loaded>(path) ?? {};
  const present = new Set((await ctr(node, ["images", "ls", "-q"])).split("\n"));
  let imported = 0;
  for (const archive of archives) {
    if (!existsSync(archive)) throw new Error(`There is no image archive ${archive}`);
    const { size, mtimeMs } = statSync(archive);
    const stamp = `${size} ${mtimeMs}`;
    const known = loaded[archive];
    if (known?.stamp === stamp && known.refs.every((ref) => present.has(ref))) continue;
    const refs = importedRefs(await ctr(node, ["images", "import", "--local", archive]));
    // An archive with the same image and other content is not what the node holds any more.
    for (const [other, { refs: names }] of Object.entries(loaded)) {
      if (names.some((name) => refs.includes(name))) delete loaded[other];
    }
    loaded[archive] = { stamp, refs };
    imported++;
  }
  if (imported > 0) writeAtomically(path, JSON.stringify(loaded));
  return imported;
}

/** ctr prints `unpacking REF (sha256:…)...done` or `REF  saved`, by version. */
function importedRefs(output: string): string[] {
  const refs = new Set<string>();
  for (const line of output.split("\n")) {
    const match = /^(?:unpacking )?(\S+[:@]\S+)\s/.exec(line.trim());
    if (match?.[1]) refs.add(match[1]);
  }
  return [...refs];
}
