import { coreDnsImage, metricsServerImage } from "../images/names.js";
import type { Api, Manifest } from "./api.js";
import { dnsAddress } from "./node.js";
import type { ClusterRecord } from "./record.js";

/** What runs in every cluster beside the control plane: cluster DNS and metrics-server. */

const NAMESPACE = "kube-system";
const RBAC = "rbac.authorization.k8s.io/v1";
const PATHS: Record<string, string> = {
  ServiceAccount: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
  ConfigMap: `/api/v1/namespaces/${NAMESPACE}/configmaps`,
  Service: `/api/v1/namespaces/${NAMESPACE}/services`,
  Deployment: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
  RoleBinding: `/apis/${RBAC}/namespaces/${NAMESPACE}/rolebindings`,
  ClusterRole: `/apis/${RBAC}/clusterroles`,
  ClusterRoleBinding: `/apis/${RBAC}/clusterrolebindings`,
  APIService: "/apis/apiregistration.k8s.io/v1/apiservices",
};

/** Applies both; their images must have been loaded, or are about to be. */
export async function applyAddons(record: ClusterRecord, api: Api): Promise<void> {
  const manifests = [clusterConfiguration(record), ...coreDns(record), ...metricsServer()];
  await Promise.all(
    manifests.map((manifest) => {
      const path = PATHS[manifest.kind];
      if (!path) throw new Error(`No path for kind ${manifest.kind}`);
      return api.apply(path, manifest);
    }),
  );
}

/** The ConfigMap by which kubeadm's and kind's clusters, too, tell their ranges. */
function clusterConfiguration(record: ClusterRecord): Manifest {
  const networking = {
    podSubnet: record.spec.podCIDR,
    serviceSubnet: record.spec.serviceCIDR,
    dnsDomain: "cluster.local",
  };
  return {
    ...namespaced("v1", "ConfigMap", "kubeadm-config"),
    data: { ClusterConfiguration: JSON.stringify({ kind: "ClusterConfiguration", networking }) },
  };
}

/** Names of what does not serve yet. */
export async function unavailableAddons(api: Api): Promise<string[]> {
  const deployments = ["coredns", "metrics-server"].map((name) => `${PATHS.Deployment}/${name}`);
  const paths = [...deployments, `${PATHS.APIService}/v1beta1.metrics.k8s.io`];
  const ready = await Promise.all(paths.map((path) => isAvailable(api, path)));
  return paths.filter((_, index) => !ready[index]).map((path) => path.slice(path.lastIndexOf("/") + 1));
}

interface WithConditions {
  status?: { conditions?: { type: string; status: string }[] };
}

async function isAvailable(api: Api, path: string): Promise<boolean> {
  const object = await api.get<WithConditions>(path);
  return object?.status?.conditions?.some((item) => item.type === "Available" && item.status === "True") ?? false;
}

const COREFILE = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
    }
    loadbalance
}
.:53 {
    errors
    template ANY ANY . {
        rcode NXDOMAIN
    }
}
`;

function coreDns(record: ClusterRecord): Manifest[] {
  const labels = { "k8s-app": "kube-dns" };
  const rules = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return [
    namespaced("v1", "ServiceAccount", "coredns"),
    { apiVersion: RBAC, kind: "ClusterRole", metadata: { name: "system:coredns" }, rules },
    clusterRoleBinding("system:coredns", "system:coredns", "coredns"),
    { ...namespaced("v1", "ConfigMap", "coredns"), data: { Corefile: COREFILE } },
    {
      ...namespaced("v1", "Service", "kube-dns", labels),
      spec: { clusterIP: dnsAddress(record), selector: labels, ports },
    },
    deployment("coredns", labels, {
      dnsPolicy: "Default",
      containers: [
        {
          name: "coredns",
          image: coreDnsImage(),
          imagePullPolicy: "Never",
          args: ["-conf", "/etc/coredns/Corefile"],
          ports: ports.map(({ name, port, protocol }) => ({ name, containerPort: port, protocol })),
          volumeMounts: [{ name: "config", mountPath: "/etc/coredns", readOnly: true }],
          readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
          resources: { requests: { cpu: "50m", memory: "64Mi" } },
        },
      ],
      volumes: [{ name: "config", configMap: { name: "coredns" } }],
    }),
  ];
}

function metricsServer(): Manifest[] {
  const labels = { "k8s-app": "metrics-server" };
  const reader = [{ apiGroups: ["metrics.k8s.io"], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] }];
  const rules = [
    { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
    { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
  ];
  const aggregate = Object.fromEntries(
    ["view", "edit", "admin"].map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, "true"]),
  );
  const service = { name: "metrics-server", namespace: NAMESPACE };
  return [
    namespaced("v1", "ServiceAccount", "metrics-server"),
    {
      apiVersion: RBAC,
      kind: "ClusterRole",
      metadata: { name: "system:aggregated-metrics-reader", labels: aggregate },
      rules: reader,
    },
    { apiVersion: RBAC, kind: "ClusterRole", metadata: { name: "system:metrics-server" }, rules },
    clusterRoleBinding("system:metrics-server", "system:metrics-server", "metrics-server"),
    clusterRoleBinding("metrics-server:system:auth-delegator", "system:auth-delegator", "metrics-server"),
    {
      ...namespaced(RBAC, "RoleBinding", "metrics-server-auth-reader"),
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "extension-apiserver-authentication-reader",
      },
      subjects: [{ kind: "ServiceAccount", ...service }],
    },
    {
      ...namespaced("v1", "Service", "metrics-server", labels),
      spec: { selector: labels, ports: [{ name: "https", port: 443, targetPort: "https", protocol: "TCP" }] },
    },
    deployment("metrics-server", labels, metricsServerPod()),
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        service: { ...service, port: 443 },
        group: "metrics.k8s.io",
        version: "v1beta1",
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}

function metricsServerPod(): object {
  return {
    containers: [
      {
        name: "metrics-server",
        image: metricsServerImage(),
        imagePullPolicy: "Never",
        args: [
          "--cert-dir=/tmp",
          "--secure-port=10250",
          "--kubelet-preferred-address-types=InternalIP",
          "--kubelet-use-node-status-port",
          "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
          "--metric-resolution=10s",
          "--kubelet-request-timeout=5s",
        ],
        ports: [{ name: "https", containerPort: 10250, protocol: "TCP" }],
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
        // Ready as soon as it serves: its own /readyz also waits for two rounds of measurements.
        readinessProbe: { httpGet: { path: "/livez", port: "https", scheme: "HTTPS" }, periodSeconds: 1 },
        resources: { requests: { cpu: "50m", memory: "100Mi" } },
      },
    ],
    volumes: [{ name: "tmp", emptyDir: {} }],
  };
}

function namespaced(apiVersion: string, kind: string, name: string, labels?: Record<string, string>): Manifest {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE, ...(labels && { labels }) } };
}

function clusterRoleBinding(name: string, role: string, account: string): Manifest {
  return {
    apiVersion: RBAC,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: NAMESPACE }],
  };
}

/** A Deployment of one pod; it may start while its node is still being initialised. */
function deployment(name: string, labels: Record<string, string>, pod: object): Manifest {
  const tolerations = [
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoSchedule" },
    { key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" },
  ];
  return {
    ...namespaced("apps/v1", "Deployment", name, labels),
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          priorityClassName: "system-cluster-critical",
          nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
          tolerations,
          ...pod,
        },
      },
    },
  };
}
