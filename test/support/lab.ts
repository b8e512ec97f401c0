import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildAgentImage } from "../../agent/image/build.js";
import { KubeClient } from "../../agent/runtime/index.js";
import { buildProvider } from "../../scripts/build.js";
import {
  TEST_TOOLS_IMAGE,
  ensureTool,
  loadImage,
  pulumiFolder,
  upClusters,
  type Cluster,
  type ClusterSpec,
} from "../clusters/index.js";
import type { UpOptions } from "../clusters/backend.js";
import { exec, type ExecOptions } from "./exec.js";

export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** A test cluster with the ways in that a person has: kubectl, and the API. */
export interface LabCluster {
  cluster: Cluster;
  client: KubeClient;
  /** Runs the real kubectl and returns what it printed. Throws when it fails. */
  kubectl(args: readonly string[], options?: ExecOptions): Promise<string>;
}

export interface Lab {
  clusters: LabCluster[];
  /** The agent image that was loaded into every node. */
  agentImage: string;
  /** The folder of the Pulumi CLI. */
  pulumiBin: string;
}

/** Builds what must be built, brings the clusters up and loads the images. All of it is cached: a second call is quick. */
export async function prepareLab(specs: readonly ClusterSpec[], options: UpOptions = {}): Promise<Lab> {
  const pulumiBin = await pulumiFolder();
  const clusters = await upClusters(specs, options);
  await buildProvider();
  const image = await buildAgentImage();
  await loadImage(image.archive, clusters);
  await loadImage(TEST_TOOLS_IMAGE, clusters);
  return { clusters: await Promise.all(clusters.map(openCluster)), agentImage: image.ref, pulumiBin };
}

/** The ways into a running cluster. */
export async function openCluster(cluster: Cluster): Promise<LabCluster> {
  const kubectlPath = await ensureTool("kubectl");
  const kubeconfig = await readFile(cluster.kubeconfigPath, "utf8");
  return {
    cluster,
    client: KubeClient.fromText(kubeconfig, { cluster: cluster.name }),
    kubectl: async (args, options) => {
      const access = ["--kubeconfig", cluster.kubeconfigPath, "--context", cluster.context];
      return (await exec(kubectlPath, [...access, ...args], options)).stdout;
    },
  };
}
