import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Backend, Cluster, ClusterNode } from "../backend.js";
import { ensureTool } from "../components/ensure.js";
import { run, tryRun } from "../support/exec.js";
import { readJson, stateFolder, writeAtomically } from "../support/files.js";
import { which } from "../support/packages.js";
import { completeSpec, differences, ORDINARY, type ClusterSpec, type FullSpec } from "../spec.js";

/** Clusters as containers of a Docker engine, made by kind. */

const folder = (): string => join(stateFolder(), "kind");
const specPath = (name: string): string => join(folder(), `${name}.json`);
const kubeconfigPath = (name: string): string => join(folder(), `${name}.kubeconfig`);
const nodeImage = (version: string): string => process.env.KIND_NODE_IMAGE ?? `kindest/node:${version}`;

/** True where a Docker engine answers, kind is installed and its node image is at hand. */
export async function kindIsUsable(version: string): Promise<boolean> {
  if (!which("docker") || !which("kind")) return false;
  const answer = await tryRun("docker", ["image", "inspect", nodeImage(version)], { timeout: 10_000 });
  return answer.code === 0;
}

export const kindBackend: Backend = {
  name: "kind",
  // Its images are part of its installation.
  prepare: () => Promise.resolve(),
  async up(specs, progress) {
    // One after the other: kind is not made for two runs that create the Docker network at once.
    const clusters: Cluster[] = [];
    for (const spec of specs) {
      const full = plan(spec);
      const existing = await kindClusters();
      if (!existing.includes(full.name)) await progress.step(`${full.name}: kind cluster`, () => create(full), true);
      clusters.push(await describe(full));
    }
    return clusters;
  },
  async down(names, progress) {
    for (const name of names) {
      if (!existsSync(specPath(name))) continue;
      await progress.step(`${name}: down`, () => run("kind", ["delete", "cluster", "--name", name]));
      rmSync(specPath(name), { force: true });
      rmSync(kubeconfigPath(name), { force: true });
    }
  },
  async list() {
    const running = new Set(readSpecs().length > 0 ? await kindClusters() : []);
    return Promise.all(
      readSpecs()
        .filter((spec) => running.has(spec.name))
        .map(describe),
    );
  },
  async status(cluster) {
    const answer = await tryRun(
      await ensureTool("kubectl"),
      ["--kubeconfig", cluster.kubeconfigPath, "get", "--raw", "/readyz"],
      {
        timeout: 10_000,
      },
    );
    return { ...cluster, problems: answer.code === 0 ? [] : [`API server does not answer: ${answer.stderr.trim()}`] };
  },
  async loadImage(archive, clusters, progress) {
    for (const { name } of clusters) {
      await progress.step(`${name}: image loaded`, () =>
        run("kind", ["load", "image-archive", archive, "--name", name]),
      );
    }
  },
};

/** The specification recorded at first; later ones must agree with it. */
function plan(spec: ClusterSpec): FullSpec {
  const recorded = readJson<FullSpec>(specPath(spec.name));
  if (recorded) {
    const other = differences(recorded, spec);
    if (other.length > 0)
      throw new Error(`Cluster ${spec.name} exists, and its ${other.join(", its ")}. Take it down first.`);
    return recorded;
  }
  const taken = new Set(readSpecs().map((item) => item.index));
  const full = completeSpec(spec, [...Array(51).keys()].find((i) => i > 0 && !taken.has(i)) ?? 1);
  writeAtomically(specPath(full.name), JSON.stringify(full));
  return full;
}

async function create(spec: FullSpec): Promise<void> {
  if (spec.cni !== "bridge" || spec.kubeProxy === "none") {
    throw new Error(`cluster ${spec.name}: kind brings its own CNI and kube-proxy: use the local backend for others`);
  }
  if (spec.nodeGraceSeconds !== ORDINARY.nodeGraceSeconds) {
    throw new Error(`cluster ${spec.name}: nodeGraceSeconds: only the local backend can change it`);
  }
  const roles = Array.from({ length: spec.nodes }, (_, i) => ({ role: i === 0 ? "control-plane" : "worker" }));
  const configuration = stringify({
    kind: "Cluster",
    apiVersion: "kind.x-k8s.io/v1alpha4",
    nodes: roles.map((role) => ({ ...role, image: nodeImage(spec.kubernetesVersion) })),
    networking: { podSubnet: spec.podCIDR, serviceSubnet: spec.serviceCIDR, kubeProxyMode: spec.kubeProxy },
  });
  mkdirSync(folder(), { recursive: true });
  const args = ["create", "cluster", "--name", spec.name, "--config", "-", "--wait", "180s"];
  await run("kind", [...args, "--kubeconfig", kubeconfigPath(spec.name)], { input: configuration });
  // Pods may run on the control plane too, as in the local backend.
  const taint = ["taint", "nodes", "--all", "node-role.kubernetes.io/control-plane:NoSchedule-"];
  await tryRun(await ensureTool("kubectl"), ["--kubeconfig", kubeconfigPath(spec.name), ...taint]);
}

async function describe(spec: FullSpec): Promise<Cluster> {
  if (!existsSync(kubeconfigPath(spec.name))) {
    writeAtomically(kubeconfigPath(spec.name), await run("kind", ["get", "kubeconfig", "--name", spec.name]));
    chmodSync(kubeconfigPath(spec.name), 0o600);
  }
  const config = ["--kubeconfig", kubeconfigPath(spec.name)];
  const server = await run(await ensureTool("kubectl"), [
    ...config,
    "config",
    "view",
    "-o",
    "jsonpath={.clusters[0].cluster.server}",
  ]);
  const template =
    '{range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address} {.spec.podCIDR}{"\\n"}{end}';
  const nodes = await run(await ensureTool("kubectl"), [...config, "get", "nodes", "-o", `jsonpath=${template}`]);
  return {
    name: spec.name,
    backend: "kind",
    kubeconfigPath: kubeconfigPath(spec.name),
    context: `kind-${spec.name}`,
    server,
    kubernetesVersion: spec.kubernetesVersion,
    podCIDR: spec.podCIDR,
    serviceCIDR: spec.serviceCIDR,
    nodes: nodes.trim().split("\n").map(parseNode),
  };
}

function parseNode(line: string): ClusterNode {
  const [name = "", address = "", podCIDR] = line.split(" ");
  return { name, address: address.split(",")[0] ?? address, podCIDR };
}

async function kindClusters(): Promise<string[]> {
  return (await run("kind", ["get", "clusters", "-q"])).split("\n").filter(Boolean);
}

function readSpecs(): FullSpec[] {
  if (!existsSync(folder())) return [];
  return readdirSync(folder())
    .filter((file) => file.endsWith(".json"))
    .flatMap((file) => readJson<FullSpec>(join(folder(), file)) ?? []);
}
