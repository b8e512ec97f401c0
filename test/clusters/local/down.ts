import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../support/lock.js";
import { end, type ProcessIdentity } from "../support/processes.js";
import type { Progress } from "../support/progress.js";
import { until } from "../support/wait.js";
import { cgroupProcesses, removeCgroups } from "./cgroups.js";
import { removeIfEmpty, removeTraces } from "./host-folders.js";
import { unmountBelow } from "./mounts.js";
import { removeBridge, removeNodeNetwork, withNetworkLock } from "./network.js";
import { clusterPaths, clustersFolder, nodeRunFolder, RUN_FOLDER } from "./paths.js";
import { endProgram, marked, recordedPrograms } from "./processes.js";
import { readRecord, readRecords, writeRecord, type ClusterRecord } from "./record.js";

const DEADLINE_MS = 30_000;
/** Takes local clusters down with everything that is theirs; the shared network goes with the last one. */
export async function down(names: readonly string[], progress: Progress): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      if (!readRecord(name)) return;
      await progress.step(`${name}: down`, () =>
        withLock(clusterPaths(name).lock, `cluster ${name}`, async () => {
          const record = readRecord(name);
          if (record) await takeDown(record);
        }),
      );
    }),
  );
  await withNetworkLock(async () => {
    if (readRecords().length > 0) return;
    await removeBridge();
    // Not what is below: clusters recorded in another state folder have the root file systems of their containers there.
    removeIfEmpty(RUN_FOLDER);
    removeIfEmpty(clustersFolder());
  });
}

async function takeDown(record: ClusterRecord): Promise<void> {
  const { name } = record.spec;
  const nodes = record.nodes.map((node) => node.name);
  writeRecord({ ...record, removing: true });
  // First what would start others again, then all the rest until none is left.
  for (const program of recordedPrograms(name)) endProgram(name, program);
  const left = (): ProcessIdentity[] => [...marked(name), ...nodes.flatMap(cgroupProcesses)];
  await until(`processes of cluster ${name} to end`, DEADLINE_MS, () => endAll(left()), 50);
  const folders = [clusterPaths(name).root, ...nodes.map(nodeRunFolder)];
  await unmountBelow(folders);
  for (const node of nodes) await removeNodeNetwork(node);
  await until(`control groups of cluster ${name} to go`, DEADLINE_MS, () => noneLeft(nodes.flatMap(removeCgroups)));
  removeTraces(folders);
  for (const node of nodes) rmSync(nodeRunFolder(node), { recursive: true, force: true });
  removeExceptRecord(name);
  rmSync(clusterPaths(name).root, { recursive: true, force: true });
}

function endAll(processes: ProcessIdentity[]): true | undefined {
  processes.forEach(end);
  return noneLeft(processes.map((item) => String(item.pid)));
}

function noneLeft(names: string[]): true | undefined {
  if (names.length > 0) throw new Error(`still there: ${names.slice(0, 5).join(", ")}`);
  return true;
}

/** The record goes last, so that a `down` which is killed can be done again. */
function removeExceptRecord(name: string): void {
  const { root, record } = clusterPaths(name);
  for (const entry of readdirSync(root)) {
    if (join(root, entry) !== record) rmSync(join(root, entry), { recursive: true, force: true });
  }
}
