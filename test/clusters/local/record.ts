import { existsSync, readdirSync } from "node:fs";
import { readJson, writeAtomically } from "../support/files.js";
import type { Cluster } from "../backend.js";
import { ORDINARY, addressIn, nodePodCIDR, type FullSpec } from "../spec.js";
import type { SharedNetwork } from "./network.js";
import { clusterPaths, clustersFolder, hostInterface, netnsName, nodeName } from "./paths.js";

/**
 * What a cluster is meant to be. Written before anything of it is created, so that a run which is ended halfway leaves
 * nothing behind that nobody knows of.
 */
export interface ClusterRecord extends SharedNetwork {
  spec: FullSpec;
  nodes: NodeRecord[];
  /** The file for audit events, if there is one. */
  auditLog?: string;
  /** It is being taken down: what is left of it is of no use. */
  removing?: boolean;
}

export interface NodeRecord {
  name: string;
  address: string;
  podCIDR: string;
}

export function readRecord(cluster: string): ClusterRecord | undefined {
  const record = readJson<ClusterRecord>(clusterPaths(cluster).record);
  // Records of before there was a choice have none.
  return record && { ...record, spec: { ...ORDINARY, ...record.spec } };
}

export function writeRecord(record: ClusterRecord): void {
  writeAtomically(clusterPaths(record.spec.name).record, `${JSON.stringify(record, null, 2)}\n`);
}

/** Records of all local clusters, by name. */
export function readRecords(): ClusterRecord[] {
  if (!existsSync(clustersFolder())) return [];
  return readdirSync(clustersFolder())
    .filter((name) => !name.startsWith("."))
    .sort()
    .flatMap((name) => readRecord(name) ?? []);
}

/** Gives a new cluster its nodes' addresses out of the subnet, avoiding those of other clusters. */
export function planRecord(spec: FullSpec, network: SharedNetwork, others: readonly ClusterRecord[]): ClusterRecord {
  const { subnet, bridge } = network;
  const taken = new Set(others.flatMap((other) => other.nodes.map((node) => node.address)));
  const free = Array.from({ length: 240 }, (_, i) => addressIn(subnet, i + 11)).filter(
    (address) => !taken.has(address),
  );
  const nodes = Array.from({ length: spec.nodes }, (_, i): NodeRecord => {
    const address = free[i];
    if (!address) throw new Error(`cluster ${spec.name}: no free address left in ${subnet}`);
    return { name: nodeName(spec.name, i), address, podCIDR: nodePodCIDR(spec.podCIDR, i) };
  });
  return { spec, subnet, bridge, nodes };
}

/** The node that runs the control plane. */
export function controlPlane(record: ClusterRecord): NodeRecord {
  const first = record.nodes[0];
  if (!first) throw new Error(`cluster ${record.spec.name}: its record has no node`);
  return first;
}

/** The cluster as callers see it. */
export function toCluster(record: ClusterRecord): Cluster {
  const { spec } = record;
  return {
    name: spec.name,
    backend: "local",
    kubeconfigPath: clusterPaths(spec.name).kubeconfig,
    context: spec.name,
    server: `https://${controlPlane(record).address}:6443`,
    kubernetesVersion: spec.kubernetesVersion,
    podCIDR: spec.podCIDR,
    serviceCIDR: spec.serviceCIDR,
    nodes: record.nodes.map((node) => ({
      ...node,
      netns: netnsName(node.name),
      hostInterface: hostInterface(node.name),
    })),
    bridge: record.bridge,
  };
}
