import type { Progress } from "./support/progress.js";
import type { ClusterSpec } from "./spec.js";

export type BackendName = "kind" | "local";

export interface ClusterNode {
  name: string;
  address: string;
  podCIDR?: string;
  /** Local backend: the node's network namespace, as `ip netns` lists it. */
  netns?: string;
  /** The host's end of the node's link: all traffic to other nodes and clusters passes it. */
  hostInterface?: string;
}

/** A running test cluster. */
export interface Cluster {
  name: string;
  backend: BackendName;
  /** An ordinary kubeconfig file with administrator rights. */
  kubeconfigPath: string;
  context: string;
  /** Reachable from this machine and from the nodes of every other test cluster. */
  server: string;
  kubernetesVersion: string;
  podCIDR: string;
  serviceCIDR: string;
  nodes: ClusterNode[];
  /** The bridge that joins the nodes of all clusters. */
  bridge?: string;
}

export interface ClusterStatus extends Cluster {
  /** What is not as it should be; empty for a healthy cluster. */
  problems: string[];
}

export interface UpOptions {
  /**
   * Where API servers of new clusters write who asked for what, as CLUSTER.log: audit events of all but Kubernetes' own components, one per line of
   * JSON. Outlives the clusters. The local backend alone does.
   */
  auditFolder?: string;
}

/** A way to run clusters on this machine. */
export interface Backend {
  readonly name: BackendName;
  /** Installs, fetches or builds everything that clusters need, so that `up` is quick; it needs no preparation itself. */
  prepare(progress: Progress): Promise<void>;
  up(specs: readonly ClusterSpec[], progress: Progress, options?: UpOptions): Promise<Cluster[]>;
  /** Takes clusters down; unknown names are no error. */
  down(names: readonly string[], progress: Progress): Promise<void>;
  list(): Promise<Cluster[]>;
  status(cluster: Cluster): Promise<ClusterStatus>;
  /** Loads a docker-archive or OCI-archive file into every node's image store. */
  loadImage(archive: string, clusters: readonly Cluster[], progress: Progress): Promise<void>;
}
