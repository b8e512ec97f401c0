import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run, tryRun } from "../support/exec.js";
import { sha256File } from "../support/files.js";
import type { Progress } from "../support/progress.js";
import { architecture, type Component, type Release } from "./catalog.js";

const CONNECT_SECONDS = 3;
const DOWNLOAD_SECONDS = 900;

/** Hosts that did not answer in this run: a machine without a way out must not pay for every component. */
const unreachable = new Set<string>();

/**
 * Fetches a component's official release into `folder` and says whether `program` is there now. False, quickly, where
 * there is no release or its host cannot be reached; a wrong checksum is an error.
 */
export async function download(
  component: Component,
  program: string,
  version: string,
  folder: string,
  progress: Progress,
): Promise<boolean> {
  const release = component.release?.(version, architecture(), program);
  if (!release || unreachable.has(new URL(release.url).host)) return false;
  const work = join(folder, `.download.${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    const file = join(work, "release");
    const sums = join(work, "sums");
    // The small file first: it tells quickly whether the host can be reached and has this version.
    if (!(await fetchTo(release.checksums, sums))) return false;
    await progress.step(`${program} ${version}: official release`, async () => {
      if (!(await fetchTo(release.url, file))) return;
      await verify(release, file, readFileSync(sums, "utf8"));
      await unpack(component, program, release, work, folder);
    });
    return existsSync(join(folder, program));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function fetchTo(url: string, path: string): Promise<boolean> {
  // curl follows the proxy settings of the environment, which fetch does not.
  const limits = ["--connect-timeout", String(CONNECT_SECONDS), "--max-time", String(DOWNLOAD_SECONDS)];
  const result = await tryRun("curl", ["-fsSL", ...limits, "-o", path, url], { timeout: DOWNLOAD_SECONDS * 1000 });
  // 22: the server answered, but has no such file; anything else: it cannot be reached from here.
  if (result.code !== 0 && result.code !== 22) unreachable.add(new URL(url).host);
  return result.code === 0;
}

async function verify(release: Release, file: string, sums: string): Promise<void> {
  const name = release.url.slice(release.url.lastIndexOf("/") + 1);
  const line = sums.split("\n").find((text) => text.trim().endsWith(name)) ?? sums.trim();
  const expected = /\b[0-9a-f]{64}\b/.exec(line)?.[0];
  const actual = await sha256File(file);
  if (expected !== actual) {
    throw new Error(`${release.url}: SHA-256 is ${actual}, but ${release.checksums} says ${expected ?? "nothing"}`);
  }
}

async function unpack(component: Component, program: string, release: Release, work: string, folder: string): Promise<void> {
  if (release.archiveFolder === undefined) {
    await place(join(work, "release"), join(folder, program));
    return;
  }
  await run("tar", ["-xzf", join(work, "release"), "-C", work]);
  for (const name of Object.keys(component.programs)) {
    const unpacked = join(work, release.archiveFolder, name);
    if (existsSync(unpacked)) await place(unpacked, join(folder, name));
  }
}

async function place(from: string, to: string): Promise<void> {
  await run("chmod", ["0755", from]);
  renameSync(from, to);
}
