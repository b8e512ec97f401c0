import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { run } from "../support/exec.js";
import { cacheFolder, sha256 } from "../support/files.js";
import { withLock } from "../support/lock.js";
import { ensurePrograms } from "../support/packages.js";
import type { Progress } from "../support/progress.js";
import { architecture } from "../components/catalog.js";

/** One layer: `key` changes whenever what `write` puts into the folder (the image's root) changes. */
export interface Layer {
  key: string;
  write(root: string): Promise<void>;
}

export interface ImageConfiguration {
  entrypoint?: readonly string[];
  cmd?: readonly string[];
  env?: Readonly<Record<string, string>>;
  user?: string;
}

export interface ImageDescription {
  /** The full reference it gets, with a tag. */
  ref: string;
  /** From the bottom up; those that change rarely come first and are kept ready. */
  layers: readonly Layer[];
  configuration: ImageConfiguration;
}

export interface BuiltImage {
  ref: string;
  /** An OCI archive that containerd, Docker and kind load. */
  archive: string;
}

/** Archives of earlier contents of one image that stay in the cache. */
const KEPT = 3;

/** How the archives of an image's reference begin. */
export const archiveStem = (ref: string): string => ref.replace(/[^A-Za-z0-9.-]+/g, "_");

/** Archives of an image's reference in the cache, the one asked for last first. */
export function archivesOf(ref: string): string[] {
  const folder = join(cacheFolder(), "images");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${archiveStem(ref)}-`) && file.endsWith(".tar"))
    .map((file) => ({ path: join(folder, file), time: statSync(join(folder, file)).mtimeMs }))
    .sort((a, b) => b.time - a.time)
    .map(({ path }) => path);
}

/** Builds an image without a container engine, unless an archive of the same content is in the cache. */
export async function buildArchive(image: ImageDescription, progress: Progress): Promise<BuiltImage> {
  const folder = join(cacheFolder(), "images");
  const stem = archiveStem(image.ref);
  const key = sha256(
    JSON.stringify([image.ref, image.configuration, image.layers.map((layer) => layer.key), architecture()]),
  );
  const archive = join(folder, `${stem}-${key.slice(0, 16)}.tar`);
  if (existsSync(archive)) {
    // Asked for again after another content: from now on it is the image of this reference.
    if (archivesOf(image.ref)[0] !== archive) utimesSync(archive, new Date(), new Date());
    return { ref: image.ref, archive };
  }
  await ensurePrograms([{ program: "umoci", package: "umoci" }], progress);
  await withLock(join(folder, `.${stem}.lock`), `image ${image.ref}`, async () => {
    if (existsSync(archive)) return;
    await progress.step(`image ${image.ref}`, () => assemble(image, archive, join(folder, `.${stem}.work`)));
    for (const old of archivesOf(image.ref).slice(KEPT)) rmSync(old, { force: true });
  });
  return { ref: image.ref, archive };
}

async function assemble(image: ImageDescription, archive: string, work: string): Promise<void> {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    const layout = join(work, "layout");
    await run("cp", ["-a", await baseLayout(image.layers.slice(0, -1), work), layout]);
    const top = image.layers.at(-1);
    if (top) await addLayer(layout, top, work);
    await configure(layout, image.configuration);
    nameImage(layout, image.ref);
    await run("tar", ["-cf", `${archive}.tmp`, "-C", layout, "."]);
    renameSync(`${archive}.tmp`, archive);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** An OCI layout with all layers but the last, kept in the cache. */
async function baseLayout(layers: readonly Layer[], work: string): Promise<string> {
  const layout = join(
    cacheFolder(),
    "images",
    "layouts",
    sha256(JSON.stringify(layers.map((layer) => layer.key))).slice(0, 16),
  );
  await withLock(`${layout}.lock`, "an image's base", async () => {
    if (existsSync(layout)) return;
    const temporary = join(work, "base");
    await run("umoci", ["init", "--layout", temporary]);
    await run("umoci", ["new", "--image", `${temporary}:latest`]);
    for (const layer of layers) await addLayer(temporary, layer, work);
    renameSync(temporary, layout);
  });
  return layout;
}

async function addLayer(layout: string, layer: Layer, work: string): Promise<void> {
  const root = join(work, "root");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { mode: 0o755 });
  await layer.write(root);
  await run("umoci", ["insert", "--image", `${layout}:latest`, root, "/"]);
}

async function configure(layout: string, configuration: ImageConfiguration): Promise<void> {
  const args = ["--architecture", architecture(), "--os", "linux"];
  for (const word of configuration.entrypoint ?? []) args.push("--config.entrypoint", word);
  for (const word of configuration.cmd ?? []) args.push("--config.cmd", word);
  for (const [name, value] of Object.entries(configuration.env ?? {})) args.push("--config.env", `${name}=${value}`);
  if (configuration.user !== undefined) args.push("--config.user", configuration.user);
  await run("umoci", ["config", "--image", `${layout}:latest`, ...args]);
  await run("umoci", ["gc", "--layout", layout]);
}

/** Gives the one image of a layout its full name, in the annotations that container engines look at. */
function nameImage(layout: string, ref: string): void {
  const path = join(layout, "index.json");
  const index = JSON.parse(readFileSync(path, "utf8")) as { manifests: { annotations?: Record<string, string> }[] };
  for (const manifest of index.manifests) {
    manifest.annotations = { "io.containerd.image.name": ref, "org.opencontainers.image.ref.name": ref };
  }
  writeFileSync(path, JSON.stringify(index));
}
