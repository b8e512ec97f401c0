import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { run, tryRun } from "../support/exec.js";
import { cacheFolder } from "../support/files.js";
import { which } from "../support/packages.js";
import { archivesOf, archiveStem } from "./archive.js";

/** An archive with the image of this reference: the newest one built here, else out of Docker's image store. */
export async function imageArchive(ref: string): Promise<string> {
  return archivesOf(ref)[0] ?? (await savedFromDocker(ref));
}

async function savedFromDocker(ref: string): Promise<string> {
  const id = which("docker") ? await tryRun("docker", ["image", "inspect", "--format", "{{.Id}}", ref]) : undefined;
  if (id?.code !== 0) throw new Error(`There is neither a file nor an image ${ref}`);
  const folder = join(cacheFolder(), "images");
  const archive = join(
    folder,
    `${archiveStem(ref)}-${id.stdout
      .trim()
      .replace(/^sha256:/, "")
      .slice(0, 16)}.tar`,
  );
  mkdirSync(folder, { recursive: true });
  if (!existsSync(archive)) await run("docker", ["save", "--output", archive, ref]);
  return archive;
}
