import { join } from "node:path";
import { sha256, stateFolder } from "../support/files.js";

/** Parent of all local clusters' folders. */
export const clustersFolder = (): string => join(stateFolder(), "clusters");

/** Everything a cluster keeps on disk. */
export const clusterFolder = (cluster: string): string => join(clustersFolder(), cluster);

/** Sockets and mounts: short paths, gone after a reboot. */
export const RUN_FOLDER = "/run/plq";

export const nodeName = (cluster: string, i: number): string => `${cluster}-${i + 1}`;
export const netnsName = (node: string): string => `plq-${node}`;
export const netnsPath = (node: string): string => `/run/netns/${netnsName(node)}`;
export const nodeRunFolder = (node: string): string => join(RUN_FOLDER, node);
export const containerdSocket = (node: string): string => join(nodeRunFolder(node), "containerd.sock");
/** Where the kubelet finds its folder: the kernel allows 107 characters for a socket below it, wherever a home is. */
export const kubeletRoot = (node: string): string => join(nodeRunFolder(node), "kubelet");
export const cgroupRoot = (node: string): string => `/plq-${node}`;

/** The host's end of a node's link; the kernel allows 15 characters. */
export function hostInterface(node: string): string {
  const plain = `plq-${node}`;
  return plain.length <= 15 ? plain : `plq-${sha256(node).slice(0, 10)}`;
}

export const clusterPaths = (cluster: string) => {
  const root = clusterFolder(cluster);
  return {
    root,
    record: join(root, "cluster.json"),
    lock: join(clustersFolder(), `.${cluster}.lock`),
    kubeconfig: join(root, "kubeconfig"),
    pki: join(root, "pki"),
    logs: join(root, "logs"),
    processes: join(root, "processes"),
    etcd: join(root, "etcd"),
    node: (node: string) => join(root, "nodes", node),
  };
};
