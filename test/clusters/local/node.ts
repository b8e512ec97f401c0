import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { stateFolder, writeAtomically } from "../support/files.js";
import { which } from "../support/packages.js";
import { addressIn } from "../spec.js";
import { PAUSE_IMAGE } from "../images/names.js";
import { FAST, flags } from "./control-plane.js";
import { ensureKubeconfig } from "./kubeconfig.js";
import { cgroupRoot, clusterPaths, containerdSocket, kubeletRoot, nodeRunFolder } from "./paths.js";
import { POD_BRIDGE, podMTU } from "./pod-network.js";
import type { Program } from "./processes.js";
import type { ClusterRecord, NodeRecord } from "./record.js";

/** The programs of every node: containerd, kubelet and kube-proxy, and the CNI configuration. */

export type NodeTools = Record<"containerd" | "containerd-shim-runc-v2" | "kubelet" | "kube-proxy", string>;

const SERVICE_PROXY = fileURLToPath(new URL("service-proxy.ts", import.meta.url));

/** Where Debian and others put CNI plugins. */
export const CNI_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin"];

/** Address of the cluster's DNS Service. */
export const dnsAddress = (record: ClusterRecord): string => addressIn(record.spec.serviceCIDR, 10);

export function containerd(record: ClusterRecord, node: NodeRecord, tools: NodeTools): Program {
  const folder = clusterPaths(record.spec.name).node(node.name);
  const path = join(folder, "containerd.toml");
  ensureCniConfiguration(record, node);
  mkdirSync(nodeRunFolder(node.name), { recursive: true });
  const configuration = containerdConfiguration(node, folder);
  ensureFile(path, configuration);
  const search = [dirname(tools["containerd-shim-runc-v2"]), process.env.PATH ?? "", "/usr/sbin:/usr/bin:/sbin:/bin"];
  return {
    name: `containerd-${node.name}`,
    node: node.name,
    command: tools.containerd,
    args: ["--config", path, "--log-level", "warn"],
    env: { PATH: search.join(":") },
    configuration,
  };
}

function containerdConfiguration(node: NodeRecord, folder: string): string {
  const run = nodeRunFolder(node.name);
  const cniFolder = dirname(which("host-local", CNI_FOLDERS) ?? "/usr/lib/cni/host-local");
  return `version = 3
root = "${join(folder, "containerd")}"
state = "${join(run, "containerd")}"
disabled_plugins = ["io.containerd.image-verifier.v1.bindir", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.native"]

[grpc]
  address = "${containerdSocket(node.name)}"

[plugins."io.containerd.shim.v1.manager"]
  socket_dir = "${join(run, "s")}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE a process cannot lower its own score.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = []

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["${cniFolder}"]
  conf_dir = "${join(folder, "cni")}"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "${which("runc") ?? "runc"}"
  Root = "${join(run, "runc")}"
`;
}

function ensureCniConfiguration(record: ClusterRecord, node: NodeRecord): void {
  const bridge = {
    type: "bridge",
    bridge: POD_BRIDGE,
    isGateway: true,
    hairpinMode: true,
    mtu: podMTU(record),
    ipam: {
      type: "host-local",
      dataDir: join(nodeRunFolder(node.name), "ipam"),
      ranges: [[{ subnet: node.podCIDR }]],
      routes: [{ dst: "0.0.0.0/0" }],
    },
  };
  const list = { cniVersion: "1.0.0", name: "pods", plugins: [bridge] };
  ensureFile(join(clusterPaths(record.spec.name).node(node.name), "cni", "10-pods.conflist"), JSON.stringify(list));
}

export function kubelet(record: ClusterRecord, node: NodeRecord, tools: NodeTools): Program {
  const folder = clusterPaths(record.spec.name).node(node.name);
  const path = join(folder, "kubelet.yaml");
  const configuration = stringify(kubeletConfiguration(record, node, folder));
  ensureFile(path, configuration);
  // Pods with the node's own DNS settings find no name server there: the clusters have no way out.
  ensureFile(join(folder, "resolv.conf"), "# no name server\n");
  mkdirSync(join(folder, "pod-logs"), { recursive: true });
  return {
    name: `kubelet-${node.name}`,
    node: node.name,
    command: tools.kubelet,
    args: flags({
      config: path,
      kubeconfig: ensureKubeconfig(record, `kubelet-${node.name}`, join(folder, "kubelet.kubeconfig")),
      "root-dir": kubeletRoot(node.name),
      "cert-dir": join(folder, "kubelet-pki"),
      "hostname-override": node.name,
      "node-ip": node.address,
    }),
    env: FAST,
    configuration,
  };
}

function kubeletConfiguration(record: ClusterRecord, node: NodeRecord, folder: string): object {
  const pki = clusterPaths(record.spec.name).pki;
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${containerdSocket(node.name)}`,
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    cgroupRoot: cgroupRoot(node.name),
    cgroupsPerQOS: true,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(pki, "ca.crt") },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: join(pki, `kubelet-${node.name}.crt`),
    tlsPrivateKeyFile: join(pki, `kubelet-${node.name}.key`),
    clusterDNS: [dnsAddress(record)],
    clusterDomain: "cluster.local",
    resolvConf: join(folder, "resolv.conf"),
    podLogsDir: join(folder, "pod-logs"),
    volumePluginDir: join(folder, "volume-plugins"),
    healthzBindAddress: "127.0.0.1",
    // The disk of a developer's machine is no reason to evict pods or to drop images that were loaded by hand.
    evictionHard: { "memory.available": "50Mi" },
    imageGCHighThresholdPercent: 100,
    // Renewed four times as often.
    nodeLeaseDurationSeconds: Math.min(40, record.spec.nodeGraceSeconds),
    serializeImagePulls: false,
    registryPullQPS: 0,
    eventRecordQPS: 0,
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
  };
}

/** Who implements Services on the node. */
export function servicesProgram(record: ClusterRecord, node: NodeRecord, tools: NodeTools): Program {
  return record.spec.kubeProxy === "none" ? serviceProxy(record, node) : kubeProxy(record, node, tools);
}

/** The test clusters' own, where there is no kube-proxy. */
function serviceProxy(record: ClusterRecord, node: NodeRecord): Program {
  return {
    name: `service-proxy-${node.name}`,
    node: node.name,
    command: process.execPath,
    args: ["--import", import.meta.resolve("tsx"), SERVICE_PROXY, record.spec.name],
    env: { PULUMI_LIQO_STATE: stateFolder() },
  };
}

function kubeProxy(record: ClusterRecord, node: NodeRecord, tools: NodeTools): Program {
  const folder = clusterPaths(record.spec.name).node(node.name);
  const path = join(folder, "kube-proxy.yaml");
  const kubeconfig = ensureKubeconfig(record, "kube-proxy", join(folder, "kube-proxy.kubeconfig"));
  const configuration = stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: record.spec.kubeProxy,
    clientConnection: { kubeconfig },
    hostnameOverride: node.name,
    clusterCIDR: record.spec.podCIDR,
    // These limits belong to the whole machine.
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nftables: { minSyncPeriod: "100ms" },
    iptables: { minSyncPeriod: "100ms" },
    healthzBindAddress: "127.0.0.1:10256",
    metricsBindAddress: "127.0.0.1:10249",
  });
  ensureFile(path, configuration);
  return {
    name: `kube-proxy-${node.name}`,
    node: node.name,
    command: tools["kube-proxy"],
    args: flags({ config: path }),
    env: FAST,
    configuration,
  };
}

function ensureFile(path: string, content: string): void {
  if (!existsSync(path) || readFileSync(path, "utf8") !== content) writeAtomically(path, content, 0o644);
}
