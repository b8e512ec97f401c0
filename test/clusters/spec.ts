import { toolVersion } from "./components/ensure.js";

/**
 * How pods of one node reach those of another: `bridge` by routes on the nodes, `vxlan` by an overlay, `masquerade` by routes too, but
 * whatever leaves a node bears the node's address.
 */
export const CNIS = ["bridge", "vxlan", "masquerade"] as const;
export type Cni = (typeof CNIS)[number];

/** Who implements Services: kube-proxy in one of its modes, or, for `none`, a small program of the test clusters. */
export const KUBE_PROXY_MODES = ["nftables", "iptables", "none"] as const;
export type KubeProxyMode = (typeof KUBE_PROXY_MODES)[number];

/** What a person may say of a test cluster; all but the name has a default. */
export interface ClusterSpec {
  name: string;
  /** 1 by default; the first is the control plane and runs pods too. */
  nodes?: number;
  podCIDR?: string;
  serviceCIDR?: string;
  /** As v1.36.3; default is the version pinned in components/go.mod. */
  kubernetesVersion?: string;
  /** `bridge` by default. */
  cni?: Cni;
  /** `nftables` by default. */
  kubeProxy?: KubeProxyMode;
  /** After how many seconds without a sign of life a node counts as lost; 50, as Kubernetes has it, by default. */
  nodeGraceSeconds?: number;
}

/** What a cluster has of these where nothing else is said. */
export const ORDINARY = { cni: "bridge", kubeProxy: "nftables", nodeGraceSeconds: 50 } as const;

/** A specification with every default filled in. `index` (1…50) tells clusters apart in default CIDRs. */
export interface FullSpec extends Required<ClusterSpec> {
  index: number;
}

export const MAX_NODES = 16;
export const MAX_CLUSTERS = 50;
/** Nodes of a busy machine are late, and none the worse for it. */
const MIN_GRACE_SECONDS = 10;

/** Fills in defaults: cluster number i gets pods 10.(200+i).0.0/16 and services 10.(90+i).0.0/16. */
export function completeSpec(spec: ClusterSpec, index: number): FullSpec {
  const full: FullSpec = {
    name: spec.name,
    nodes: spec.nodes ?? 1,
    podCIDR: spec.podCIDR ?? `10.${200 + index}.0.0/16`,
    serviceCIDR: spec.serviceCIDR ?? `10.${90 + index}.0.0/16`,
    kubernetesVersion: spec.kubernetesVersion ?? toolVersion("kubelet"),
    cni: spec.cni ?? ORDINARY.cni,
    kubeProxy: spec.kubeProxy ?? ORDINARY.kubeProxy,
    nodeGraceSeconds: spec.nodeGraceSeconds ?? ORDINARY.nodeGraceSeconds,
    index,
  };
  validate(full);
  return full;
}

/** Says in which properties a running cluster differs from what is asked for; unset properties match anything. */
export function differences(running: FullSpec, asked: ClusterSpec): string[] {
  const keys = [
    "nodes",
    "podCIDR",
    "serviceCIDR",
    "kubernetesVersion",
    "cni",
    "kubeProxy",
    "nodeGraceSeconds",
  ] as const;
  return keys
    .filter((key) => asked[key] !== undefined && asked[key] !== running[key])
    .map((key) => `${key} is ${running[key]}, not ${asked[key]}`);
}

function validate(spec: FullSpec): void {
  const fail = (property: string, reason: string): never => {
    throw new Error(`cluster ${spec.name}: ${property}: ${reason}`);
  };
  if (!/^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$/.test(spec.name)) {
    fail("name", "must be 1 to 20 lower-case letters, digits and dashes, starting with a letter");
  }
  if (!Number.isInteger(spec.nodes) || spec.nodes < 1 || spec.nodes > MAX_NODES)
    fail("nodes", `must be 1 to ${MAX_NODES}`);
  if (!/^v1\.\d+\.\d+$/.test(spec.kubernetesVersion)) fail("kubernetesVersion", "must look like v1.36.3");
  if (!CNIS.includes(spec.cni)) fail("cni", `must be one of ${CNIS.join(", ")}`);
  if (!KUBE_PROXY_MODES.includes(spec.kubeProxy)) fail("kubeProxy", `must be one of ${KUBE_PROXY_MODES.join(", ")}`);
  if (!Number.isInteger(spec.nodeGraceSeconds) || spec.nodeGraceSeconds < MIN_GRACE_SECONDS)
    fail("nodeGraceSeconds", `must be a whole number of at least ${MIN_GRACE_SECONDS}`);
  if (prefixLength(spec.podCIDR) > 20)
    fail("podCIDR", "must be an IPv4 network of at least /20, as each node takes a /24");
  if (prefixLength(spec.serviceCIDR) > 24) fail("serviceCIDR", "must be an IPv4 network of at least /24");
}

function prefixLength(cidr: string): number {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  const octets = match?.slice(1, 5).map(Number) ?? [];
  const prefix = Number(match?.[5]);
  const valid = octets.length === 4 && octets.every((octet) => octet <= 255) && prefix >= 8;
  return valid ? prefix : Infinity;
}

/** Address number n of an IPv4 network, 0 being its own. */
export function addressIn(cidr: string, n: number): string {
  const [base = ""] = cidr.split("/");
  const value = base.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0) + n;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

/** The pods' /24 of node number i (from 0) out of the cluster's pod CIDR. */
export function nodePodCIDR(podCIDR: string, i: number): string {
  return `${addressIn(podCIDR, i * 256)}/24`;
}
