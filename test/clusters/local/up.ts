import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureTools } from "../components/ensure.js";
import { testImages } from "../images/test-images.js";
import { withLock } from "../support/lock.js";
import { ensurePrograms, type SystemProgram } from "../support/packages.js";
import type { Progress } from "../support/progress.js";
import { until } from "../support/wait.js";
import type { UpOptions } from "../backend.js";
import { completeSpec, differences, MAX_CLUSTERS, type ClusterSpec, type FullSpec } from "../spec.js";
import { applyAddons, unavailableAddons } from "./addons.js";
import { connect, type Api } from "./api.js";
import { ensureCgroups } from "./cgroups.js";
import { apiServer, controllerManager, etcd, scheduler } from "./control-plane.js";
import { down } from "./down.js";
import { loadImages } from "./images.js";
import { ensureKubeconfig } from "./kubeconfig.js";
import { inotifyWarning } from "./limits.js";
import { ensureBindMount } from "./mounts.js";
import { ensureBridge, ensureNodeNetwork, withNetworkLock } from "./network.js";
import { CNI_FOLDERS, containerd, kubelet, servicesProgram } from "./node.js";
import { clusterPaths, containerdSocket, kubeletRoot, netnsName, netnsPath } from "./paths.js";
import { ensurePki } from "./pki.js";
import { assertRunning, ensureProgram, logPath, marked } from "./processes.js";
import { planRecord, readRecord, readRecords, writeRecord, type ClusterRecord, type NodeRecord } from "./record.js";

const SYSTEM_PROGRAMS: readonly SystemProgram[] = [
  { program: "ip", package: "iproute2" },
  { program: "nft", package: "nftables" },
  { program: "conntrack", package: "conntrack" },
  { program: "runc", package: "runc" },
  { program: "host-local", package: "containernetworking-plugins", folders: CNI_FOLDERS },
  { program: "nsenter", package: "util-linux" },
  { program: "sysctl", package: "procps" },
];

/** What kube-proxy runs in its mode of that name. */
const IPTABLES: SystemProgram = { program: "iptables", package: "iptables" };

const TOOLS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "containerd",
  "containerd-shim-runc-v2",
  "ctr",
  "kubectl",
] as const;
type Tools = Record<(typeof TOOLS)[number], string>;

const CONTROL_PLANE_DEADLINE_MS = 120_000;
const NODES_DEADLINE_MS = 120_000;

/** Makes sure of all that clusters of the default version need; gives the archives of their images. */
export async function prepare(progress: Progress): Promise<string[]> {
  await prepareSystem(progress);
  await ensureTools(TOOLS, { progress });
  return (await testImages(progress)).map((image) => image.archive);
}

async function prepareSystem(progress: Progress): Promise<void> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    throw new Error(
      "The local backend runs clusters in network namespaces: it needs Linux and root. Or install Docker and kind.",
    );
  }
  await ensurePrograms(SYSTEM_PROGRAMS, progress);
}

/** Brings local clusters up, or back to what they should be. Idempotent; safe to run again after being killed. */
export async function up(
  specs: readonly ClusterSpec[],
  progress: Progress,
  { auditFolder }: UpOptions = {},
): Promise<ClusterRecord[]> {
  await prepareSystem(progress);
  if (specs.some(({ kubeProxy }) => kubeProxy === "iptables")) await ensurePrograms([IPTABLES], progress);
  await finishRemovals(specs, progress);
  const records = await withNetworkLock(() => plan(specs, auditFolder));
  warnOfLimits(records, progress);
  const images = await testImages(progress);
  const archives = images.map((image) => image.archive);
  return Promise.all(
    records.map(async (record) => {
      const { name, kubernetesVersion } = record.spec;
      const tools = await ensureTools(TOOLS, { kubernetesVersion, progress });
      await withLock(clusterPaths(name).lock, `cluster ${name}`, () => bringUp(record, tools, archives, progress));
      return record;
    }),
  );
}

function warnOfLimits(records: readonly ClusterRecord[], progress: Progress): void {
  const idle = records.filter(({ spec }) => !marked(spec.name).length);
  if (idle.length === 0) return;
  const nodes = idle.reduce((sum, { spec }) => sum + spec.nodes, 0);
  const warning = inotifyWarning(idle.length, nodes);
  if (warning) progress.note(warning);
}

/** A `down` that was killed halfway is done to its end first. */
async function finishRemovals(specs: readonly ClusterSpec[], progress: Progress): Promise<void> {
  const half = specs.filter((spec) => readRecord(spec.name)?.removing).map((spec) => spec.name);
  if (half.length > 0) await down(half, progress);
}

/** Settles what every cluster is to be and records it, before anything is made. */
async function plan(specs: readonly ClusterSpec[], auditFolder?: string): Promise<ClusterRecord[]> {
  const known = readRecords();
  const indices = new Set(known.map((record) => record.spec.index));
  const planned = specs.map((spec) => existingRecord(spec, known) ?? newSpec(spec, indices));
  const network = await ensureBridge();
  return planned.map((item) => {
    if ("spec" in item) return item;
    const record = {
      ...planRecord(item, network, known),
      ...(auditFolder ? { auditLog: join(auditFolder, `${item.name}.log`) } : {}),
    };
    assertUnused(record);
    writeRecord(record);
    known.push(record);
    return record;
  });
}

function existingRecord(spec: ClusterSpec, known: readonly ClusterRecord[]): ClusterRecord | undefined {
  const existing = known.find((record) => record.spec.name === spec.name);
  const other = existing ? differences(existing.spec, spec) : [];
  if (other.length === 0) return existing;
  throw new Error(
    `Cluster ${spec.name} exists, and its ${other.join(", its ")}. Take it down first, or use another name.`,
  );
}

/** A namespace that is there before its cluster belongs to somebody else. */
function assertUnused(record: ClusterRecord): void {
  const foreign = record.nodes.find((node) => existsSync(netnsPath(node.name)));
  if (!foreign) return;
  const name = netnsName(foreign.name);
  throw new Error(`cluster ${record.spec.name}: there is a network namespace ${name} already; use another name`);
}

/** The specification of a cluster to be, with the first number that is free. */
function newSpec(spec: ClusterSpec, taken: Set<number>): FullSpec {
  const index = Array.from({ length: MAX_CLUSTERS }, (_, i) => i + 1).find((i) => !taken.has(i));
  if (index === undefined) throw new Error(`There are ${MAX_CLUSTERS} clusters already`);
  taken.add(index);
  return completeSpec(spec, index);
}

async function bringUp(
  record: ClusterRecord,
  tools: Tools,
  archives: readonly string[],
  progress: Progress,
): Promise<void> {
  const { name } = record.spec;
  const step = <T>(label: string, work: () => Promise<T>): Promise<T> => progress.step(`${name}: ${label}`, work);
  await step("certificates and network", async () => {
    mkdirSync(clusterPaths(name).root, { recursive: true });
    await Promise.all([ensurePki(record), ...record.nodes.map((node) => ensureNodeNetwork(record, node))]);
    ensureKubeconfig(record, "admin", clusterPaths(name).kubeconfig);
    for (const node of record.nodes) ensureCgroups(node.name);
  });
  const start = (program: Parameters<typeof ensureProgram>[1]): boolean => ensureProgram(name, program);
  const api = connect(record);
  try {
    start(etcd(record, tools));
    start(apiServer(record, tools));
    for (const node of record.nodes) startContainerd(record, node, tools);
    const images = step("images", () => loadEverywhere(record, archives));
    await Promise.all([images, step("API server answers", () => apiReady(record, api))]);
    start(controllerManager(record, tools));
    start(scheduler(record, tools));
    await Promise.all([...record.nodes.map((node, i) => applyNode(api, node, i === 0)), applyAddons(record, api)]);
    for (const node of record.nodes) {
      await ensureBindMount(join(clusterPaths(name).node(node.name), "kubelet"), kubeletRoot(node.name));
      start(kubelet(record, node, tools));
      start(servicesProgram(record, node, tools));
    }
    await step("nodes Ready", () => nodesReady(record, api));
    await step("DNS and metrics available", () => addonsReady(record, api));
  } finally {
    api.close();
  }
}

function startContainerd(record: ClusterRecord, node: NodeRecord, tools: Tools): void {
  const started = ensureProgram(record.spec.name, containerd(record, node, tools));
  // A socket left by a killed containerd would look like a running one.
  if (started && existsSync(containerdSocket(node.name))) rmSync(containerdSocket(node.name), { force: true });
}

async function loadEverywhere(record: ClusterRecord, archives: readonly string[]): Promise<void> {
  const { name } = record.spec;
  await Promise.all(
    record.nodes.map(async (node) => {
      const program = `containerd-${node.name}`;
      const socket = (): true | undefined => {
        assertRunning(name, program);
        return existsSync(containerdSocket(node.name)) || undefined;
      };
      await until(`containerd of ${node.name} (see ${logPath(name, program)})`, 60_000, socket, 50);
      await loadImages(record, node, archives);
    }),
  );
}

async function apiReady(record: ClusterRecord, api: Api): Promise<void> {
  const { name } = record.spec;
  const ready = async (): Promise<string | undefined> => {
    for (const program of ["etcd", "kube-apiserver"]) assertRunning(name, program);
    return api.get<string>("/readyz");
  };
  await until(`API server of ${name} (see ${logPath(name, "kube-apiserver")})`, CONTROL_PLANE_DEADLINE_MS, ready);
}

/** Nodes are declared before their kubelets join: these may set neither their pod CIDR nor the role's label. */
async function applyNode(api: Api, node: NodeRecord, isControlPlane: boolean): Promise<void> {
  const labels = isControlPlane ? { "node-role.kubernetes.io/control-plane": "" } : undefined;
  await api.apply("/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: node.name, ...(labels && { labels }) },
    spec: { podCIDR: node.podCIDR, podCIDRs: [node.podCIDR] },
  });
}

interface Node {
  spec?: { taints?: { key: string }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Names of the cluster's nodes that are not Ready, or still carry the taint of one that is not. */
export async function unreadyNodes(record: ClusterRecord, api: Api): Promise<string[]> {
  const ready = await Promise.all(
    record.nodes.map(async ({ name }) => {
      const node = await api.get<Node>(`/api/v1/nodes/${name}`);
      const condition = node?.status?.conditions?.find((item) => item.type === "Ready");
      return condition?.status === "True" && !node?.spec?.taints?.some((taint) => taint.key.endsWith("/not-ready"));
    }),
  );
  return record.nodes.filter((_, i) => !ready[i]).map((node) => node.name);
}

async function nodesReady(record: ClusterRecord, api: Api): Promise<void> {
  const { name } = record.spec;
  const programs = ["kube-controller-manager", ...record.nodes.map((node) => `kubelet-${node.name}`)];
  const ready = (): Promise<true | undefined> => {
    for (const program of programs) assertRunning(name, program);
    return noneLeft(unreadyNodes(record, api));
  };
  await until(`nodes of ${name} Ready (see ${clusterPaths(name).logs})`, NODES_DEADLINE_MS, ready);
}

async function addonsReady(record: ClusterRecord, api: Api): Promise<void> {
  const what = `DNS and metrics-server of ${record.spec.name}`;
  await until(what, NODES_DEADLINE_MS, () => noneLeft(unavailableAddons(api)));
}

async function noneLeft(names: Promise<string[]>): Promise<true | undefined> {
  const left = await names;
  if (left.length > 0) throw new Error(`waiting for ${left.join(", ")}`);
  return true;
}
