import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { RenderOutputs } from "../../provider/functions/rendering/schema.js";
import { UsageError, type Terminal } from "../terminal.js";

type Rendered = NonNullable<RenderOutputs["consumer"]>;

/** Manifests to the output: of one cluster only, as they are made to be piped into a tool that knows one cluster. */
export function printManifests(terminal: Terminal, rendered: readonly Rendered[]): void {
  const [only, ...others] = rendered;
  if (others.length > 0) {
    throw new UsageError(
      "manifests of two clusters cannot go into one stream: choose one by --only consumer or --only provider, or a folder by --out",
    );
  }
  if (only) terminal.out([only.yaml, only.secretYaml].filter((text) => text !== "").join("---\n"));
}

/** Manifests to files, named after the clusters; Secrets apart, readable by their owner alone. */
export async function writeManifests(terminal: Terminal, folder: string, rendered: readonly Rendered[]): Promise<void> {
  const target = path.resolve(terminal.folder, folder);
  await mkdir(target, { recursive: true });
  for (const { clusterId, yaml, secretYaml } of rendered) {
    await writeTold(terminal, target, `${clusterId}.yaml`, yaml, 0o644);
    await writeTold(terminal, target, `${clusterId}-secrets.yaml`, secretYaml, 0o600);
  }
}

async function writeTold(terminal: Terminal, folder: string, name: string, text: string, mode: number): Promise<void> {
  const file = path.join(folder, name);
  const shown = path.relative(terminal.folder, file) || file;
  if (text === "") {
    if (existsSync(file))
      terminal.error(`note: ${shown} is of an earlier run and was left as it is: there is nothing for it now\n`);
    return;
  }
  await replaceFile(file, text, mode);
  terminal.error(`written: ${shown}\n`);
}

/** A file that is there would keep its own mode, and who has it open would read what is written: a new one takes its place. */
async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode, flag: "wx" });
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}
