import { existsSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { tryRun } from "../support/exec.js";
import { cacheFolder } from "../support/files.js";
import { withLock } from "../support/lock.js";
import { lineProgress, type Progress } from "../support/progress.js";
import { build } from "./build.js";
import { componentOf, KUBERNETES, type Component } from "./catalog.js";
import { download } from "./download.js";
import { compareVersions, pinnedVersion } from "./versions.js";

export interface EnsureOptions {
  /** Of the Kubernetes programs; default is go.mod's. */
  kubernetesVersion?: string;
  progress?: Progress;
}

/** Programs being fetched in this process, so that each is fetched once; builds run one after the other. */
const underWay = new Map<string, Promise<string>>();
let lastBuild: Promise<unknown> = Promise.resolve();

/**
 * The path of a program of the test clusters (etcd, kube-apiserver, …, kubectl, helm, pulumi, pulumi-language-yaml,
 * wireguard-go): from the cache, else its official release, else built from its Go module.
 */
export function ensureTool(program: string, options: EnsureOptions = {}): Promise<string> {
  const component = componentOf(program);
  const version = versionOf(component, options);
  const key = `${program}@${version}`;
  const known = underWay.get(key);
  if (known) return known;
  const fetching = resolve(component, program, version, options.progress ?? lineProgress());
  underWay.set(key, fetching);
  fetching.catch(() => underWay.delete(key));
  return fetching;
}

/** Several programs; the answer maps each to its path. */
export async function ensureTools<T extends string>(programs: readonly T[], options: EnsureOptions = {}): Promise<Record<T, string>> {
  const paths = await Promise.all(programs.map((program) => ensureTool(program, options)));
  return Object.fromEntries(programs.map((program, index) => [program, paths[index]])) as Record<T, string>;
}

/** The version of the component that a program belongs to. */
export function toolVersion(program: string, options: EnsureOptions = {}): string {
  return versionOf(componentOf(program), options);
}

/** A folder with the Pulumi CLI and its YAML language host, to be put first on PATH. */
export async function pulumiFolder(progress?: Progress): Promise<string> {
  const [pulumi] = await Promise.all([ensureTool("pulumi", { progress }), ensureTool("pulumi-language-yaml", { progress })]);
  return dirname(pulumi);
}

function versionOf(component: Component, options: EnsureOptions): string {
  return (component.module === KUBERNETES ? options.kubernetesVersion : undefined) ?? pinnedVersion(component.module);
}

async function resolve(component: Component, program: string, version: string, progress: Progress): Promise<string> {
  if (component.name === "pulumi") {
    const installed = await installedPulumi(version);
    if (installed) return join(installed, program);
  }
  const folder = join(cacheFolder(), "components", `${component.name}-${version}`);
  const path = join(folder, program);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  await (lastBuild = lastBuild.catch(() => undefined).then(() => obtain(component, program, version, folder, progress)));
  return path;
}

async function obtain(
  component: Component,
  program: string,
  version: string,
  folder: string,
  progress: Progress,
): Promise<void> {
  await withLock(join(folder, ".lock"), `${program} ${version}`, async () => {
    if (existsSync(join(folder, program))) return;
    if (await download(component, program, version, folder, progress)) return;
    await progress.step(
      `${program} ${version}: built from its Go module, as no release can be downloaded here`,
      () => build(component, program, version, folder),
      true,
    );
  });
}

/** The folder on PATH with a Pulumi CLI of at least this version and the YAML language host. */
async function installedPulumi(version: string): Promise<string | undefined> {
  const folder = (process.env.PATH ?? "")
    .split(delimiter)
    .find((entry) => entry !== "" && existsSync(join(entry, "pulumi")));
  if (!folder || !existsSync(join(folder, "pulumi-language-yaml"))) return undefined;
  const answer = await tryRun(join(folder, "pulumi"), ["version"], { timeout: 20_000 });
  const installed = /v\d+\.\d+\.\d+/.exec(answer.stdout)?.[0];
  return installed && compareVersions(installed, version) >= 0 ? folder : undefined;
}
