import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../support/exec.js";
import { cacheFolder } from "../support/files.js";
import { withLock } from "../support/lock.js";
import { which } from "../support/packages.js";
import { KUBERNETES, type Component } from "./catalog.js";
import { GO_SUM, pinnedVersions } from "./versions.js";

/**
 * Builds one program of a component from its Go module into `folder`.
 *
 * go.mod pins the versions of all components, but each is built in a module of its own that requires only it: in one
 * common build graph the highest version of a shared dependency would win, with which not every component compiles.
 */
export async function build(component: Component, program: string, version: string, folder: string): Promise<void> {
  const go = which("go", ["/usr/local/go/bin"]);
  if (!go) {
    throw new Error(
      `${program} ${version} can neither be downloaded nor built here: install Go 1.26 or later (https://go.dev/dl/), ` +
        `or put the program into ${folder}`,
    );
  }
  const pack = component.programs[program] ?? "";
  const module = moduleOf(pack);
  const moduleVersion = module === component.module ? version : (pinnedVersions().get(module) ?? "");
  const source = await prepareModule(go, module, moduleVersion);
  const temporary = join(folder, `${program}.${process.pid}.tmp`);
  const tags = component.tags ? ["-tags", component.tags] : [];
  const linkerFlags = `-s -w ${component.linkerFlags?.(version) ?? ""}`.trim();
  const args = ["build", "-mod=mod", "-trimpath", "-buildvcs=false", ...tags, "-ldflags", linkerFlags, "-o", temporary];
  await run(go, [...args, pack], { cwd: source, env: { ...process.env, CGO_ENABLED: "0" }, timeout: 40 * 60_000 });
  renameSync(temporary, join(folder, program));
}

/** The module of go.mod that a package belongs to. */
function moduleOf(pack: string): string {
  const found = [...pinnedVersions().keys()]
    .filter((module) => pack === module || pack.startsWith(`${module}/`))
    .sort((a, b) => b.length - a.length)[0];
  if (!found) throw new Error(`go.mod requires no module with the package ${pack}`);
  return found;
}

/** A folder with a go.mod that requires one module, its checksums taken from the repository's go.sum. */
async function prepareModule(go: string, module: string, version: string): Promise<string> {
  const folder = join(cacheFolder(), "go-modules", `${module.replaceAll("/", "_")}@${version}`);
  const file = join(folder, "go.mod");
  await withLock(`${folder}.lock`, "preparing a Go module", async () => {
    if (existsSync(file)) return;
    mkdirSync(folder, { recursive: true });
    copyFileSync(GO_SUM, join(folder, "go.sum"));
    const staging = module === KUBERNETES ? await stagingReplacements(go, version, folder) : [];
    const lines = ["module liqo.test/components", "", "go 1.26.0", "", `require ${module} ${version}`, "", ...staging];
    writeFileSync(`${file}.tmp`, `${lines.join("\n")}\n`);
    renameSync(`${file}.tmp`, file);
  });
  return folder;
}

/** Kubernetes v1.N.P names its staging modules v0.0.0; each is published as k8s.io/X v0.N.P. */
async function stagingReplacements(go: string, version: string, folder: string): Promise<string[]> {
  const answer = await run(go, ["mod", "download", "-json", `${KUBERNETES}@${version}`], { cwd: folder });
  const goMod = (JSON.parse(answer) as { GoMod: string }).GoMod;
  const published = version.replace(/^v1\./, "v0.");
  const staging = readFileSync(goMod, "utf8").matchAll(/^\s*(k8s\.io\/\S+) v0\.0\.0(?=\s|$)/gm);
  return [...new Set([...staging].map((match) => match[1] ?? ""))].map(
    (name) => `replace ${name} => ${name} ${published}`,
  );
}
