import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import { basename, join } from "node:path";
import { run } from "../support/exec.js";
import { cacheFolder } from "../support/files.js";
import { requireGo } from "../support/go.js";
import { withLock } from "../support/lock.js";
import { KUBERNETES, KUBERNETES_PROGRAMS, type Component } from "./catalog.js";
import { GO_SUM, pinnedVersion, pinnedVersions } from "./versions.js";

/**
 * Builds a program of a component from its Go module into `folder`, and with it those of the same module that are not there yet: one command compiles what
 * they share once, and compiles on while the first of them are linked.
 *
 * go.mod pins the versions of all components, but each is built in a module of its own that requires only it: in one
 * common build graph the highest version of a shared dependency would win, with which not every component compiles.
 */
export async function build(component: Component, program: string, version: string, folder: string): Promise<void> {
  const why = `${program} ${version} can neither be downloaded nor built here, nor was it put into ${folder}`;
  const go = requireGo(why, "1.26");
  const module = moduleOf(component.programs[program] ?? "");
  const moduleVersion = module === component.module ? version : pinnedVersion(module);
  const source = await prepareModule(go, module, moduleVersion, component.sharesKubernetesDependencies);
  const tags = component.tags ? ["-tags", component.tags] : [];
  const linkerFlags = `-s -w ${component.linkerFlags?.(version) ?? ""}`.trim();
  const args = ["build", "-mod=mod", ...pathFlags(component), "-buildvcs=false", ...tags, "-ldflags", linkerFlags, "-o"];
  const command = { cwd: source, env: goEnvironment(), timeout: 40 * 60_000 };
  const siblings = missingSiblings(component, program, folder);
  if (siblings.length < 2) {
    const temporary = join(folder, `${program}.${process.pid}.tmp`);
    await run(go, [...args, temporary, mainPackage(component, program, source)], command);
    renameSync(temporary, join(folder, program));
    return;
  }
  // Go names the programs itself there: by the last part of each package's path.
  const temporary = join(folder, `build.${process.pid}.tmp`);
  await run(go, [...args, `${temporary}/`, ...siblings.map((name) => component.programs[name] ?? "")], command);
  for (const name of siblings) renameSync(join(temporary, name), join(folder, name));
  rmSync(temporary, { recursive: true });
}

/** Programs that one command can build with this one, itself included. */
function missingSiblings(component: Component, program: string, folder: string): string[] {
  const { programs, ownMain = {} } = component;
  const module = moduleOf(programs[program] ?? "");
  return Object.entries(programs).flatMap(([name, pack]) => {
    const fits = basename(pack) === name && !(name in ownMain) && moduleOf(pack) === module;
    return fits && !existsSync(join(folder, name)) ? [name] : [];
  });
}

/**
 * Without paths a program is the same wherever it is built. But then Go takes what is compiled from a replaced module for something else than the same code
 * of the same version required as such, and nothing is shared with Kubernetes' build: there, paths stay.
 */
function pathFlags({ module, sharesKubernetesDependencies }: Component): string[] {
  return module === KUBERNETES || sharesKubernetesDependencies ? [] : ["-trimpath"];
}

/** The compiler collects its garbage less often: that takes memory, of which there is enough for a package per core, and saves a good part of the time. */
export const goEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, CGO_ENABLED: "0", GOGC: process.env.GOGC ?? "400" });

/** The package to build; one of our own is copied into the module that requires what it imports. */
function mainPackage(component: Component, program: string, source: string): string {
  const own = component.ownMain?.[program];
  if (!own) return component.programs[program] ?? "";
  cpSync(new URL(`./${own}/`, import.meta.url), join(source, own), { recursive: true });
  return `./${own}`;
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
async function prepareModule(go: string, module: string, version: string, likeKubernetes = false): Promise<string> {
  const like = likeKubernetes ? `+kubernetes-${pinnedVersion(KUBERNETES)}` : "";
  const folder = join(cacheFolder(), "go-modules", `${module.replaceAll("/", "_")}@${version}${like}`);
  const file = join(folder, "go.mod");
  await withLock(`${folder}.lock`, "preparing a Go module", async () => {
    if (existsSync(file)) return;
    mkdirSync(folder, { recursive: true });
    copyFileSync(GO_SUM, join(folder, "go.sum"));
    const requirements = [`require ${module} ${version}`, ...(await replacements(go, module, version, likeKubernetes))];
    const lines = ["module liqo.test/components", "", "go 1.26.0", "", ...requirements];
    writeFileSync(`${file}.tmp`, `${lines.join("\n")}\n`);
    renameSync(`${file}.tmp`, file);
  });
  return folder;
}

async function replacements(go: string, module: string, version: string, likeKubernetes: boolean): Promise<string[]> {
  if (module === KUBERNETES) return stagingReplacements(go, version);
  if (!likeKubernetes) return [];
  const kubernetes = pinnedVersion(KUBERNETES);
  const folder = await prepareModule(go, KUBERNETES, kubernetes);
  return [...(await stagingReplacements(go, kubernetes)), ...(await dependencyReplacements(go, folder))];
}

/** Kubernetes v1.N.P names its staging modules v0.0.0; each is published as k8s.io/X v0.N.P. */
async function stagingReplacements(go: string, version: string): Promise<string[]> {
  const answer = await run(go, ["mod", "download", "-json", `${KUBERNETES}@${version}`], { cwd: os.tmpdir() });
  const goMod = (JSON.parse(answer) as { GoMod: string }).GoMod;
  const published = version.replace(/^v1\./, "v0.");
  const staging = readFileSync(goMod, "utf8").matchAll(/^\s*(k8s\.io\/\S+) v0\.0\.0(?=\s|$)/gm);
  return [...new Set([...staging].map((match) => match[1] ?? ""))].map(
    (name) => `replace ${name} => ${name} ${published}`,
  );
}

const DEPENDENCY = "{{if not .Standard}}{{with .Module}}{{if not .Replace}}{{.Path}} {{.Version}}{{end}}{{end}}{{end}}";

/** Every module that Kubernetes' programs are compiled from, at the version that they use. */
async function dependencyReplacements(go: string, folder: string): Promise<string[]> {
  const packages = KUBERNETES_PROGRAMS.map((program) => `${KUBERNETES}/cmd/${program}`);
  const answer = await run(go, ["list", "-mod=mod", "-deps", "-f", DEPENDENCY, ...packages], {
    cwd: folder,
    env: goEnvironment(),
  });
  const modules = new Map(answer.split("\n").map((line) => line.split(" ", 2) as [string, string | undefined]));
  return [...modules].flatMap(([name, version]) =>
    version && name !== KUBERNETES ? [`replace ${name} => ${name} ${version}`] : [],
  );
}
