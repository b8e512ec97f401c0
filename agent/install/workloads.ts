import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1";
import type { Container, EnvVar, PodSpec } from "kubernetes-types/core/v1";
import { Labels, LabelValues } from "../api/labels.js";
import { Ports } from "../api/names.js";
import type { InstallInputs } from "./inputs.js";
import { labelsOf, selectorOf } from "./labels.js";
import { InstallNames } from "./names.js";
import { UNPRIVILEGED } from "./security-context.js";

const CONTROLLER = "controller-manager";
const FABRIC = "fabric";

/**
 * The controller. Tools find it by its name label, and read the agent's version off the image tag and the cluster's labels
 * off `--cluster-labels=` (API specification, §7; offloading pitfalls).
 */
export function controllerDeployment(inputs: InstallInputs): Deployment {
  const labels = labelsOf(inputs, CONTROLLER);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: InstallNames.controller, namespace: inputs.namespace, labels },
    spec: {
      replicas: inputs.replicas,
      selector: { matchLabels: selectorOf(CONTROLLER) },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels },
        spec: {
          ...podBasics(inputs, InstallNames.controller),
          affinity: { nodeAffinity: notOnVirtualNodes() },
          containers: [controllerContainer(inputs)],
        },
      },
    },
  };
}

function controllerContainer(inputs: InstallInputs): Container {
  return {
    name: CONTROLLER,
    image: inputs.image,
    imagePullPolicy: inputs.imagePullPolicy,
    args: ["controller", ...controllerArguments(inputs)],
    env: [...podEnvironment(), { name: "AGENT_IMAGE", value: inputs.image }],
    ports: [
      { name: "webhook", containerPort: Ports.webhook },
      { name: "healthz", containerPort: Ports.health },
      { name: "metrics", containerPort: Ports.metrics },
    ],
    readinessProbe: {
      httpGet: { path: "/readyz", port: Ports.health },
      periodSeconds: 1,
      failureThreshold: 3,
    },
    livenessProbe: {
      httpGet: { path: "/healthz", port: Ports.health },
      periodSeconds: 20,
      timeoutSeconds: 10,
      failureThreshold: 3,
    },
    resources: { requests: { cpu: "50m", memory: "96Mi" } },
    securityContext: UNPRIVILEGED,
  };
}

/** As agent/controller/arguments.ts reads them. `--cluster-labels=` is there even when empty. */
export function controllerArguments(inputs: InstallInputs): string[] {
  // Sorted: who writes a map in another order changes nothing.
  const pairs = (map: Record<string, string>) =>
    Object.entries(map)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
  const optional = (name: string, value: string) => (value === "" ? [] : [`--${name}=${value}`]);
  return [
    `--cluster-id=${inputs.clusterId}`,
    `--liqo-namespace=${inputs.namespace}`,
    `--cluster-labels=${pairs(inputs.clusterLabels)}`,
    `--image=${inputs.image}`,
    `--image-pull-policy=${inputs.imagePullPolicy}`,
    ...optional("image-pull-secrets", inputs.imagePullSecrets.join(",")),
    ...optional("api-server-address", inputs.apiServerAddress),
    ...optional("api-server-ca", inputs.apiServerCA),
    `--trusted-ca=${inputs.trustedCA}`,
    `--tls-compatibility-mode=${inputs.tlsCompatibilityMode ?? false}`,
    `--networking-enabled=${inputs.networkingEnabled}`,
    `--default-resource-slice-class-enabled=${inputs.defaultResourceSliceClassEnabled ?? true}`,
    `--enable-resource-enforcement=${inputs.resourceEnforcement}`,
    `--default-limits-enforcement=${inputs.defaultLimitsEnforcement}`,
    `--default-node-resources=${pairs(inputs.defaultNodeResources)}`,
    `--enable-storage=${inputs.storageEnabled}`,
    ...optional("real-storage-class-name", inputs.realStorageClass),
    ...optional("ingress-classes", inputs.ingressClasses.join(",")),
    ...optional("load-balancer-classes", inputs.loadBalancerClasses.join(",")),
    `--foreign-cluster-ping-interval=${inputs.pingIntervalSeconds}`,
    `--foreign-cluster-ping-timeout=${inputs.pingTimeoutSeconds}`,
    `--ipam-pools=${inputs.ipamPools.join(",")}`,
  ];
}

/** The node's part of the network: in the host's network namespace, on every node but virtual ones. */
export function fabricDaemonSet(inputs: InstallInputs): DaemonSet {
  const labels = labelsOf(inputs, FABRIC);
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: InstallNames.fabric, namespace: inputs.namespace, labels },
    spec: {
      selector: { matchLabels: selectorOf(FABRIC) },
      template: {
        metadata: { labels },
        spec: {
          ...podBasics(inputs, InstallNames.fabric),
          hostNetwork: true,
          dnsPolicy: "ClusterFirstWithHostNet",
          affinity: { nodeAffinity: notOnVirtualNodes() },
          // A node that is tainted still has pods whose traffic must find the gateways.
          tolerations: [{ operator: "Exists" }],
          containers: [fabricContainer(inputs)],
        },
      },
    },
  };
}

function fabricContainer(inputs: InstallInputs): Container {
  return {
    name: FABRIC,
    image: inputs.image,
    imagePullPolicy: inputs.imagePullPolicy,
    args: ["fabric"],
    env: podEnvironment(),
    resources: { requests: { cpu: "20m", memory: "64Mi" } },
    // Sysctls of the host's interfaces are written, which NET_ADMIN alone does not allow.
    securityContext: { privileged: true },
  };
}

/** What all pods of an installation have in common. */
export function podBasics(inputs: InstallInputs, serviceAccountName: string): Omit<PodSpec, "containers"> {
  return {
    serviceAccountName,
    terminationGracePeriodSeconds: 10,
    ...(inputs.imagePullSecrets.length > 0
      ? { imagePullSecrets: inputs.imagePullSecrets.map((name) => ({ name })) }
      : {}),
  };
}

function podEnvironment(): EnvVar[] {
  const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return [
    field("POD_NAME", "metadata.name"),
    field("POD_NAMESPACE", "metadata.namespace"),
    field("POD_IP", "status.podIP"),
    field("NODE_NAME", "spec.nodeName"),
  ];
}

/** Our own workloads run where the cluster itself does. */
export function notOnVirtualNodes() {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: Labels.type, operator: "NotIn", values: [LabelValues.virtualNodeType] }] },
      ],
    },
  };
}
