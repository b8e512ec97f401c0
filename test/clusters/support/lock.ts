import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readJson } from "./files.js";
import { identify, isRunning, type ProcessIdentity } from "./processes.js";

/** How long one run waits for another: a cold Go build of a component takes minutes. */
const DEADLINE_MS = 45 * 60_000;
/** A lock without a readable owner for this long was left by a run that ended while it wrote it. */
const UNREADABLE_MS = 2_000;

/**
 * Runs work while no other process holds the same lock file. The file names its owner, so one left by a killed run is
 * taken over. Not re-entrant.
 */
export async function withLock<T>(path: string, what: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  const deadline = Date.now() + DEADLINE_MS;
  let unreadableSince: number | undefined;
  while (!tryAcquire(path)) {
    const owner = readOwner(path);
    if (owner === undefined) unreadableSince ??= Date.now();
    else unreadableSince = undefined;
    const stale = owner ? !isRunning(owner) : Date.now() - (unreadableSince ?? 0) > UNREADABLE_MS;
    if (stale) {
      dropStale(path, owner);
      continue;
    }
    if (Date.now() > deadline) throw new Error(`${what}: process ${owner?.pid ?? "?"} has held ${path} for too long`);
    await delay(100);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

function tryAcquire(path: string): boolean {
  let file: number;
  try {
    file = openSync(path, "wx");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  writeSync(file, JSON.stringify(identify(process.pid)));
  closeSync(file);
  return true;
}

/** Moves a stale lock aside; a lock that somebody else took over in between is put back untouched. */
function dropStale(path: string, stale: ProcessIdentity | undefined): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readOwner(aside);
  if (moved && (moved.pid !== stale?.pid || moved.startTime !== stale.startTime)) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

function readOwner(path: string): ProcessIdentity | undefined {
  try {
    return readJson<ProcessIdentity>(path);
  } catch {
    return undefined;
  }
}
