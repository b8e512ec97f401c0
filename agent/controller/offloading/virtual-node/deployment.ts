import type { Deployment } from "kubernetes-types/apps/v1";
import type { Container, PodSpec } from "kubernetes-types/core/v1";
import { customResourceName, customResourceText } from "../../../api/custom-resource.js";
import {
  ANNOTATIONS_NOT_REFLECTED,
  Labels,
  LabelValues,
  Ports,
  VirtualNodeResource,
  virtualKubeletAccountName,
  virtualKubeletDeploymentName,
  type LabelSelector,
  type VirtualNode,
  type VkOptionsTemplateSpec,
} from "../../../api/index.js";
import { UNPRIVILEGED } from "../../../install/security-context.js";
import { ownerReference } from "../../../runtime/index.js";
import type { ControllerConfig } from "../../context.js";
import { labelSelectorText } from "./label-selector-text.js";
import { furtherArguments, withUserTemplate } from "./user-template.js";

/** What the virtual node's process is started from. What may change while it runs is not here: it reads that from its VirtualNode. */
export interface VirtualKubeletInputs {
  virtualNode: VirtualNode;
  options: VkOptionsTemplateSpec;
  config: Pick<ControllerConfig, "clusterId" | "namespace" | "image" | "imagePullPolicy" | "imagePullSecrets">;
  /** This cluster's pod ranges. */
  localPodCIDRs: string[];
}

/** Whether the virtual node has a Node: as it says itself, else as the options do. */
export function createsNode({ spec }: VirtualNode, options: VkOptionsTemplateSpec): boolean {
  return spec.createNode ?? options.createNode;
}

/** Labels by which the virtual node's pods are found. */
export function selectorLabels(virtualNode: VirtualNode): Record<string, string> {
  return {
    [Labels.offloadingComponent]: LabelValues.virtualKubeletComponent,
    [Labels.remoteClusterID]: virtualNode.spec.clusterID ?? "",
    [Labels.virtualNode]: virtualNode.metadata.name ?? "",
  };
}

/**
 * The Deployment of a virtual node's process, computed from the VirtualNode and its options at each pass, so that changes of either reach it
 * (offloading specification, §2.4). Capacity, labels, taints, classes and the offloading patch are no part of it: a
 * change of those must not restart the process.
 */
export function deploymentOf(inputs: VirtualKubeletInputs): Deployment {
  const { virtualNode, options } = inputs;
  const { name = "", namespace } = virtualNode.metadata;
  const matchLabels = selectorLabels(virtualNode);
  const replicas = options.replicas ?? 1;
  const fixed = identityArguments(inputs);
  const labels = {
    ...matchLabels,
    [Labels.appName]: LabelValues.virtualKubeletComponent,
    [Labels.appComponent]: "offloading",
    [Labels.appPartOf]: LabelValues.partOf,
    [Labels.appInstance]: name,
  };
  const deployment: Deployment = {
    metadata: {
      name: virtualKubeletDeploymentName(name),
      namespace,
      labels,
      ownerReferences: [ownerReference(VirtualNodeResource, virtualNode)],
    },
    spec: {
      replicas,
      selector: { matchLabels },
      // Two processes of one node, overlapping in a roll-out, would both report it; replicas choose one by a lease.
      strategy: { type: replicas > 1 ? "RollingUpdate" : "Recreate" },
      template: {
        metadata: { labels: { ...options.extraLabels, ...labels }, annotations: options.extraAnnotations },
        spec: podSpecOf(inputs),
      },
    },
  };
  return withUserTemplate(deployment, virtualNode.spec.template, fixed);
}

function podSpecOf(inputs: VirtualKubeletInputs): PodSpec {
  const { virtualNode, options, config } = inputs;
  const secrets = [...config.imagePullSecrets.map((name) => ({ name })), ...(options.imagePullSecrets ?? [])];
  return {
    serviceAccountName: virtualKubeletAccountName(virtualNode.metadata.name ?? ""),
    // The process has nothing to finish: its state is in the clusters.
    terminationGracePeriodSeconds: 5,
    containers: [containerOf(inputs)],
    ...(secrets.length > 0 ? { imagePullSecrets: secrets } : {}),
    ...(options.tolerations ? { tolerations: options.tolerations } : {}),
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: Labels.type, operator: "NotIn", values: [LabelValues.virtualNodeType] }] },
          ],
        },
      },
    },
  };
}

function containerOf(inputs: VirtualKubeletInputs): Container {
  const { virtualNode, options, config } = inputs;
  const field = (name: string, fieldPath: string) => ({
    name,
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } },
  });
  return {
    name: LabelValues.virtualKubeletComponent,
    image: options.containerImage || config.image,
    imagePullPolicy: options.pullPolicy || config.imagePullPolicy,
    args: argumentsOf(inputs),
    env: [
      field("POD_IP", "status.podIP"),
      field("POD_NAME", "metadata.name"),
      field("POD_NAMESPACE", "metadata.namespace"),
      { name: "VIRTUALNODE_NAME", value: virtualNode.metadata.name },
    ],
    ports: [
      { name: "kubelet", containerPort: Ports.kubelet, protocol: "TCP" },
      ...(options.metricsEnabled
        ? [{ name: "metrics", containerPort: metricsPort(options.metricsAddress), protocol: "TCP" }]
        : []),
    ],
    // The kubelet's own API asks everyone for credentials, so health has a port of its own.
    readinessProbe: { httpGet: { path: "/readyz", port: Ports.health }, periodSeconds: 1, failureThreshold: 3 },
    // Slow is not dead: on a node without time to spare a restart would only cost more of it.
    livenessProbe: {
      httpGet: { path: "/healthz", port: Ports.health },
      periodSeconds: 20,
      timeoutSeconds: 10,
      failureThreshold: 3,
    },
    terminationMessagePolicy: "FallbackToLogsOnError",
    ...(options.resources ? { resources: options.resources } : {}),
    securityContext: UNPRIVILEGED,
  };
}

/** Of "host:port", as a metrics address is written. */
function metricsPort(address = ""): number {
  return Number(address.split(":").at(-1)) || Ports.virtualKubeletMetrics;
}

function argumentsOf(inputs: VirtualKubeletInputs): string[] {
  const { options } = inputs;
  const identity = identityArguments(inputs);
  return [
    "virtual-node",
    ...identity,
    ...reflectionArguments(options),
    ...nodeArguments(options),
    ...metricsArguments(options),
    ...furtherArguments(options.extraArgs ?? [], identity),
  ];
}

/** What makes the process the one of this virtual node: nothing else may say otherwise. */
function identityArguments({ virtualNode, options, config, localPodCIDRs }: VirtualKubeletInputs): string[] {
  const { metadata, spec } = virtualNode;
  const checksNetwork = !(spec.disableNetworkCheck ?? options.disableNetworkCheck);
  return [
    `--foreign-cluster-id=${spec.clusterID ?? ""}`,
    `--nodename=${metadata.name ?? ""}`,
    "--node-ip=$(POD_IP)",
    `--tenant-namespace=${metadata.namespace ?? ""}`,
    `--liqo-namespace=${config.namespace}`,
    `--home-cluster-id=${config.clusterId}`,
    `--foreign-kubeconfig-secret-name=${spec.kubeconfigSecretRef?.name ?? ""}`,
    `--create-node=${createsNode(virtualNode, options)}`,
    `--node-check-network=${checksNetwork}`,
    `--health-port=${Ports.health}`,
    ...[...localPodCIDRs].sort().map((cidr) => `--local-podcidr=${cidr}`),
  ];
}

function reflectionArguments(options: VkOptionsTemplateSpec): string[] {
  const { reflectorsConfig = {}, labelsNotReflected = [], annotationsNotReflected = [] } = options;
  return [
    ...sortedEntries(reflectorsConfig).flatMap(([kind, { workers, type, selector }]) => [
      `--${kind}-reflection-workers=${workers}`,
      ...(type ? [`--${kind}-reflection-type=${type}`] : []),
      ...selectorArguments(kind, selector),
    ]),
    ...customResourceArguments(options),
    ...labelsNotReflected.map((key) => `--label-not-reflected=${key}`),
    // What is never reflected need not be said.
    ...annotationsNotReflected
      .filter((key) => !ANNOTATIONS_NOT_REFLECTED.includes(key))
      .map((key) => `--annotation-not-reflected=${key}`),
  ];
}

function customResourceArguments({ customResources = [] }: VkOptionsTemplateSpec): string[] {
  return customResources.flatMap((resource) => {
    const { workers, type, selector } = resource;
    const name = customResourceName(resource);
    return [
      `--reflect-resource=${customResourceText(resource)}`,
      ...(workers === undefined ? [] : [`--${name}-reflection-workers=${workers}`]),
      ...(type ? [`--${name}-reflection-type=${type}`] : []),
      ...selectorArguments(name, selector),
    ];
  });
}

/** An empty selector selects everything, as none does. */
function selectorArguments(kind: string, selector: LabelSelector = {}): string[] {
  const text = labelSelectorText(selector);
  return text === "" ? [] : [`--${kind}-reflection-selector=${text}`];
}

function nodeArguments({ nodeExtraLabels = {}, nodeExtraAnnotations = {} }: VkOptionsTemplateSpec): string[] {
  return [
    ...sortedEntries(nodeExtraLabels).map(([key, value]) => `--node-extra-labels=${key}=${value}`),
    ...sortedEntries(nodeExtraAnnotations).map(([key, value]) => `--node-extra-annotations=${key}=${value}`),
  ];
}

function metricsArguments({ metricsEnabled, metricsAddress }: VkOptionsTemplateSpec): string[] {
  if (!metricsEnabled) return [];
  return ["--metrics-enabled=true", `--metrics-address=${metricsAddress || `:${Ports.virtualKubeletMetrics}`}`];
}

/** In an order that does not depend on how the map came to be: another order would restart the process. */
function sortedEntries<T>(entries: Record<string, T>): [string, T][] {
  return Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1));
}
