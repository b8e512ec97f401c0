/**
 * Test clusters: real Kubernetes clusters on this machine, any number side by side, for the demo, the tests and the
 * benchmarks. Nothing here knows of the product; only the caches and the state folder outlive a run.
 */
import { existsSync } from "node:fs";
import type { Backend, BackendName, Cluster, ClusterStatus, UpOptions } from "./backend.js";
import { toolVersion } from "./components/ensure.js";
import { kindBackend, kindIsUsable } from "./kind/backend.js";
import { localBackend } from "./local/backend.js";
import { imageArchive } from "./images/find.js";
import { ORDINARY, type ClusterSpec } from "./spec.js";
import { lineProgress, type Progress } from "./support/progress.js";

export type { BackendName, Cluster, ClusterNode, ClusterStatus } from "./backend.js";
export type { ClusterSpec, Cni, KubeProxyMode } from "./spec.js";
export { ensureTool, ensureTools, pulumiFolder, toolVersion } from "./components/ensure.js";
export { TEST_TOOLS_IMAGE } from "./images/names.js";
export { cacheFolder, stateFolder } from "./support/files.js";
export { lineProgress, silent, type Progress } from "./support/progress.js";

export interface ClusterOptions {
  /** Default: $PULUMI_LIQO_CLUSTERS_BACKEND, else kind where it can be used, else local. */
  backend?: BackendName;
  progress?: Progress;
}

/** Installs, fetches or builds what clusters need, without bringing one up: minutes the first time, nothing afterwards. */
export async function prepareClusters(options: ClusterOptions = {}): Promise<void> {
  const backend = await chooseBackend(options.backend);
  await backend.prepare(options.progress ?? lineProgress());
}

/** Brings clusters up side by side; those that run as described are left as they are. */
export async function upClusters(
  specs: readonly ClusterSpec[],
  options: ClusterOptions & UpOptions = {},
): Promise<Cluster[]> {
  const names = specs.map((spec) => spec.name);
  if (new Set(names).size !== names.length) throw new Error(`A cluster is named twice: ${names.join(", ")}`);
  const backend = await chooseBackend(options.backend, specs);
  return backend.up(specs, options.progress ?? lineProgress(), options);
}

/** Takes clusters down, whatever their backend; `all` takes every one. Those not there are no error. */
export async function downClusters(names: readonly string[] | "all", options: ClusterOptions = {}): Promise<void> {
  const known = await listClusters();
  for (const backend of [localBackend, kindBackend]) {
    const own = known.filter((cluster) => cluster.backend === backend.name).map((cluster) => cluster.name);
    const chosen = names === "all" ? own : own.filter((name) => names.includes(name));
    if (chosen.length > 0) await backend.down(chosen, options.progress ?? lineProgress());
  }
}

/** Every cluster there is, whatever its backend. */
export async function listClusters(): Promise<Cluster[]> {
  return [...(await localBackend.list()), ...(await kindBackend.list())];
}

/** One cluster by name. */
export async function getCluster(name: string): Promise<Cluster> {
  const known = await listClusters();
  const found = known.find((cluster) => cluster.name === name);
  const others = known.map((cluster) => cluster.name).join(", ") || "none";
  if (!found) throw new Error(`There is no cluster ${name}; there are: ${others}`);
  return found;
}

/** Every cluster with what is wrong with it. */
export async function clusterStatus(): Promise<ClusterStatus[]> {
  return Promise.all((await listClusters()).map((cluster) => backendOf(cluster).status(cluster)));
}

/** Loads an image into every node of clusters: an archive file, or a reference to an image built here or in Docker. */
export async function loadImage(
  archiveOrRef: string,
  clusters: readonly Cluster[],
  options: ClusterOptions = {},
): Promise<void> {
  const progress = options.progress ?? lineProgress();
  const archive = existsSync(archiveOrRef) ? archiveOrRef : await imageArchive(archiveOrRef);
  for (const backend of [localBackend, kindBackend]) {
    const own = clusters.filter((cluster) => cluster.backend === backend.name);
    if (own.length > 0) await backend.loadImage(archive, own, progress);
  }
}

function backendOf(cluster: Cluster): Backend {
  return cluster.backend === "kind" ? kindBackend : localBackend;
}

async function chooseBackend(asked: BackendName | undefined, specs: readonly ClusterSpec[] = []): Promise<Backend> {
  const name = asked ?? process.env.PULUMI_LIQO_CLUSTERS_BACKEND;
  if (name === "kind") return kindBackend;
  if (name === "local") return localBackend;
  if (name) throw new Error(`There is no backend ${name}; there are: kind, local`);
  // kind brings its own CNI, kube-proxy and controller manager.
  if (specs.some(({ cni = ORDINARY.cni, kubeProxy }) => cni !== ORDINARY.cni || kubeProxy === "none"))
    return localBackend;
  if (specs.some(({ nodeGraceSeconds: s = ORDINARY.nodeGraceSeconds }) => s !== ORDINARY.nodeGraceSeconds))
    return localBackend;
  return (await kindIsUsable(toolVersion("kubelet"))) ? kindBackend : localBackend;
}
