import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureKubeconfig } from "./kubeconfig.js";
import { AUDIT_POLICY } from "./audit-policy.js";
import { clusterPaths } from "./paths.js";
import type { Program } from "./processes.js";
import { controlPlane, type ClusterRecord } from "./record.js";

/** etcd and the programs of the control plane, all on the first node. */

export type ControlPlaneTools = Record<
  "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler",
  string
>;

const ETCD = "http://127.0.0.1:2379";

/** etcd without durability: a test cluster's data need not outlive a power cut. */
export function etcd(record: ClusterRecord, tools: ControlPlaneTools): Program {
  return {
    name: "etcd",
    node: controlPlane(record).name,
    command: tools.etcd,
    args: flags({
      "data-dir": clusterPaths(record.spec.name).etcd,
      "unsafe-no-fsync": true,
      "listen-client-urls": ETCD,
      "advertise-client-urls": ETCD,
      "listen-peer-urls": "http://127.0.0.1:2380",
      "auto-compaction-retention": "10m",
      "log-level": "warn",
    }),
  };
}

export function apiServer(record: ClusterRecord, tools: ControlPlaneTools): Program {
  const { spec } = record;
  const file = pkiFile(record);
  return {
    name: "kube-apiserver",
    node: controlPlane(record).name,
    command: tools["kube-apiserver"],
    env: FAST,
    args: flags({
      "etcd-servers": ETCD,
      "secure-port": 6443,
      "bind-address": "0.0.0.0",
      "advertise-address": controlPlane(record).address,
      "service-cluster-ip-range": spec.serviceCIDR,
      "tls-cert-file": file("apiserver.crt"),
      "tls-private-key-file": file("apiserver.key"),
      "client-ca-file": file("ca.crt"),
      "kubelet-client-certificate": file("apiserver-kubelet-client.crt"),
      "kubelet-client-key": file("apiserver-kubelet-client.key"),
      // Kubelets, virtual ones too, must serve with a certificate of the cluster's authority.
      "kubelet-certificate-authority": file("ca.crt"),
      "kubelet-preferred-address-types": "InternalIP",
      "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
      "service-account-key-file": file("service-account.pub"),
      "service-account-signing-key-file": file("service-account.key"),
      "proxy-client-cert-file": file("front-proxy-client.crt"),
      "proxy-client-key-file": file("front-proxy-client.key"),
      "requestheader-client-ca-file": file("front-proxy-ca.crt"),
      "requestheader-allowed-names": "front-proxy-client",
      "requestheader-extra-headers-prefix": "X-Remote-Extra-",
      "requestheader-group-headers": "X-Remote-Group",
      "requestheader-username-headers": "X-Remote-User",
      "enable-aggregator-routing": true,
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "allow-privileged": true,
      profiling: false,
      ...auditing(record),
    }),
  };
}

export function controllerManager(record: ClusterRecord, tools: ControlPlaneTools): Program {
  const { spec } = record;
  const file = pkiFile(record);
  const kubeconfig = kubeconfigOf(record, "controller-manager");
  return {
    name: "kube-controller-manager",
    node: controlPlane(record).name,
    command: tools["kube-controller-manager"],
    env: FAST,
    args: flags({
      kubeconfig,
      "authentication-kubeconfig": kubeconfig,
      "authorization-kubeconfig": kubeconfig,
      "bind-address": "127.0.0.1",
      "service-account-private-key-file": file("service-account.key"),
      "root-ca-file": file("ca.crt"),
      "cluster-signing-cert-file": file("ca.crt"),
      "cluster-signing-key-file": file("ca.key"),
      "use-service-account-credentials": true,
      // Each node's pod CIDR is fixed by the record, as its CNI configuration and the routes need it.
      "allocate-node-cidrs": false,
      "cluster-cidr": spec.podCIDR,
      "service-cluster-ip-range": spec.serviceCIDR,
      "flex-volume-plugin-dir": join(clusterPaths(spec.name).root, "volume-plugins"),
      "leader-elect": false,
      "node-monitor-grace-period": `${spec.nodeGraceSeconds}s`,
      "kube-api-qps": 200,
      "kube-api-burst": 400,
      profiling: false,
    }),
  };
}

export function scheduler(record: ClusterRecord, tools: ControlPlaneTools): Program {
  const kubeconfig = kubeconfigOf(record, "scheduler");
  return {
    name: "kube-scheduler",
    node: controlPlane(record).name,
    command: tools["kube-scheduler"],
    env: FAST,
    args: flags({
      kubeconfig,
      "authentication-kubeconfig": kubeconfig,
      "authorization-kubeconfig": kubeconfig,
      "bind-address": "127.0.0.1",
      "leader-elect": false,
      "kube-api-qps": 200,
      "kube-api-burst": 400,
      profiling: false,
    }),
  };
}

/** Several clusters share a few cores: memory is the cheaper thing to spend. */
export const FAST: Record<string, string> = { GOGC: "200" };

/** Command line flags of the Go programs here. */
export function flags(values: Record<string, string | number | boolean>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

function auditing({ spec, auditLog }: ClusterRecord): Record<string, string> {
  if (!auditLog) return {};
  const policy = join(clusterPaths(spec.name).root, "audit-policy.json");
  writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
  return { "audit-policy-file": policy, "audit-log-path": auditLog, "audit-log-mode": "batch" };
}

function pkiFile(record: ClusterRecord): (file: string) => string {
  return (file) => join(clusterPaths(record.spec.name).pki, file);
}

function kubeconfigOf(record: ClusterRecord, certificate: string): string {
  return ensureKubeconfig(record, certificate, join(clusterPaths(record.spec.name).pki, `${certificate}.kubeconfig`));
}
