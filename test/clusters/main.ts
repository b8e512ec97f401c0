import { Command, Option } from "commander";
import { readFileSync } from "node:fs";
import type { BackendName, Cluster, ClusterStatus } from "./backend.js";
import { clusterStatus, downClusters, getCluster, listClusters, loadImage, upClusters } from "./index.js";
import { CNIS, KUBE_PROXY_MODES, type ClusterSpec, type Cni, type KubeProxyMode } from "./spec.js";
import { messageOf } from "../../agent/runtime/kube-error.js";

/** The test clusters' command line: `npm run clusters -- up|down|status|load-image|kubeconfig`. */

interface UpOptions {
  nodes?: number;
  podCidr?: string;
  serviceCidr?: string;
  kubernetesVersion?: string;
  cni?: Cni;
  kubeProxy?: KubeProxyMode;
  backend?: BackendName;
}

const program = new Command("clusters").description("Real Kubernetes clusters on this machine, for tests");

program
  .command("up")
  .description("bring clusters up, or back to what they should be")
  .argument(
    "<names...>",
    "clusters; options of one alone: NAME,nodes=2,podCIDR=10.1.0.0/16,serviceCIDR=10.2.0.0/16,cni=vxlan,kubeProxy=none",
  )
  .option("--nodes <number>", "nodes of each cluster", Number)
  .option("--pod-cidr <cidr>", "pod network of each cluster (equal ones are possible)")
  .option("--service-cidr <cidr>", "service network of each cluster")
  .option("--kubernetes-version <version>", "as v1.36.3")
  .addOption(
    new Option(
      "--cni <kind>",
      "how nodes' pods reach each other: routes, an overlay, or routes with all that leaves a node masqueraded",
    ).choices(CNIS),
  )
  .addOption(
    new Option(
      "--kube-proxy <mode>",
      "who implements Services; for none, a small program of the test clusters does",
    ).choices(KUBE_PROXY_MODES),
  )
  .addOption(new Option("--backend <name>", "how to run them; chosen by itself otherwise").choices(["kind", "local"]))
  .action(async (names: string[], options: UpOptions) => {
    const start = performance.now();
    const clusters = await upClusters(
      names.map((text) => parseSpec(text, options)),
      { backend: options.backend },
    );
    for (const cluster of clusters) print(summary(cluster));
    print(`Ready in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  });

program
  .command("down")
  .description("take clusters down with everything that is theirs")
  .argument("[names...]", "clusters; all when none is given")
  .action(async (names: string[]) => downClusters(names.length > 0 ? names : "all"));

program
  .command("status")
  .description("what runs, where, and what is wrong with it; ends with 1 when something is")
  .option("--json", "for programs")
  .action(async (options: { json?: boolean }) => {
    const clusters = await clusterStatus();
    if (options.json) print(JSON.stringify(clusters, null, 2));
    else if (clusters.length === 0) print("There are no clusters.");
    else clusters.forEach((cluster) => print(`${summary(cluster)}\n${health(cluster)}`));
    if (clusters.some((cluster) => cluster.problems.length > 0)) process.exitCode = 1;
  });

program
  .command("load-image")
  .description("load an image into every node")
  .argument("<archive-or-reference>", "a tar file, or an image built here or in Docker")
  .argument("[names...]", "clusters; all when none is given")
  .action(async (image: string, names: string[]) => {
    const clusters = names.length > 0 ? await Promise.all(names.map(getCluster)) : await listClusters();
    await loadImage(image, clusters);
  });

program
  .command("kubeconfig")
  .description("print a cluster's kubeconfig")
  .argument("<name>")
  .option("--path", "print where the file is instead")
  .action(async (name: string, options: { path?: boolean }) => {
    const { kubeconfigPath } = await getCluster(name);
    print(options.path ? kubeconfigPath : readFileSync(kubeconfigPath, "utf8").trimEnd());
  });

const SETTINGS = ["nodes", "podCIDR", "serviceCIDR", "kubernetesVersion", "cni", "kubeProxy", "nodeGraceSeconds"];

function parseSpec(text: string, options: UpOptions): ClusterSpec {
  const [name = "", ...settings] = text.split(",");
  const spec: ClusterSpec = {
    name,
    nodes: options.nodes,
    podCIDR: options.podCidr,
    serviceCIDR: options.serviceCidr,
    kubernetesVersion: options.kubernetesVersion,
    cni: options.cni,
    kubeProxy: options.kubeProxy,
  };
  for (const setting of settings) {
    const [key, value = ""] = setting.split("=");
    if (key === "nodes" || key === "nodeGraceSeconds") spec[key] = Number(value);
    else if (key === "podCIDR" || key === "serviceCIDR" || key === "kubernetesVersion") spec[key] = value;
    else if (key === "cni") spec.cni = value as Cni;
    else if (key === "kubeProxy") spec.kubeProxy = value as KubeProxyMode;
    else throw new Error(`${text}: no setting ${key ?? ""}; there are ${SETTINGS.join(", ")}`);
  }
  return spec;
}

function summary(cluster: Cluster): string {
  const nodes = cluster.nodes.map((node) => {
    const where = node.netns ? `  netns ${node.netns}  host interface ${node.hostInterface}` : "";
    return `    node ${node.name}  ${node.address}${where}`;
  });
  return [
    `${cluster.name}  ${cluster.backend}  ${cluster.kubernetesVersion}  ${cluster.server}`,
    `    pods ${cluster.podCIDR}  services ${cluster.serviceCIDR}${cluster.bridge ? `  bridge ${cluster.bridge}` : ""}`,
    `    kubeconfig ${cluster.kubeconfigPath}  context ${cluster.context}`,
    ...nodes,
  ].join("\n");
}

function health(cluster: ClusterStatus): string {
  return cluster.problems.length === 0
    ? "    healthy"
    : cluster.problems.map((problem) => `    ! ${problem}`).join("\n");
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
});
