import type { ConfigMap, Node } from "kubernetes-types/core/v1";
import { parse } from "yaml";
import { outsideAddress, urlHost } from "../../../agent/runtime/addresses.js";
import { isCidr } from "../../../agent/api/cidr.js";
import { Labels, LabelValues } from "../../../agent/api/labels.js";
import { ConfigMapResource, NodeResource } from "../../../agent/runtime/core-resources.js";
import type { KubeClient } from "../../../agent/runtime/kube-client.js";
import { isForbidden, isNotFound } from "../../../agent/runtime/kube-error.js";
import type { KubeObject, ResourceType } from "../../../agent/runtime/resource-type.js";

export interface DetectedRanges {
  podCIDRs: string[];
  /** Whether these are only what the present nodes have. */
  areOfNodes?: boolean;
  serviceCIDR?: string;
}

interface ServiceCIDRObject extends KubeObject {
  spec?: { cidrs?: string[] };
}

const ServiceCIDRResource: ResourceType<ServiceCIDRObject> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  namespaced: false,
};

/** The default ServiceCIDR's name (KEP-1880). */
const DEFAULT_SERVICE_CIDR = "kubernetes";

/** What the cluster itself tells of its IPv4 ranges: kubeadm's configuration first, then the default ServiceCIDR and the nodes. */
export async function detectRanges(client: KubeClient, signal: AbortSignal): Promise<DetectedRanges> {
  const [kubeadm, services, nodes] = await Promise.all([
    tolerate(client.get(ConfigMapResource, { name: "kubeadm-config", namespace: "kube-system" }, signal)),
    tolerate(client.get(ServiceCIDRResource, { name: DEFAULT_SERVICE_CIDR }, signal)),
    tolerate(client.list(NodeResource, { signal })),
  ]);
  const configured = kubeadmRanges(kubeadm);
  const areOfNodes = configured.podCIDRs.length === 0;
  return {
    podCIDRs: areOfNodes ? nodeRanges(nodes?.items ?? []) : configured.podCIDRs,
    areOfNodes,
    serviceCIDR: configured.serviceCIDR ?? services?.spec?.cidrs?.find(isCidr),
  };
}

/** Reads podSubnet and serviceSubnet of a kubeadm configuration; either may list two families. */
export function kubeadmRanges(configMap: ConfigMap | undefined): DetectedRanges {
  const text = configMap?.data?.["ClusterConfiguration"];
  if (text === undefined) return { podCIDRs: [] };
  try {
    const { networking } = parse(text) as { networking?: { podSubnet?: string; serviceSubnet?: string } };
    const ranges = (list: string | undefined) =>
      (list ?? "")
        .split(",")
        .map((one) => one.trim())
        .filter(isCidr);
    return { podCIDRs: ranges(networking?.podSubnet), serviceCIDR: ranges(networking?.serviceSubnet)[0] };
  } catch {
    return { podCIDRs: [] };
  }
}

/** The nodes' own ranges. Nodes that join later bring ranges that are not among them. */
export function nodeRanges(nodes: Node[]): string[] {
  const real = nodes.filter((node) => node.metadata?.labels?.[Labels.type] !== LabelValues.virtualNodeType);
  const ranges = real.flatMap((node) => node.spec?.podCIDRs ?? (node.spec?.podCIDR ? [node.spec.podCIDR] : []));
  return [...new Set(ranges.filter(isCidr))].sort();
}

const CONTROL_PLANE_LABELS = [
  "node-role.kubernetes.io/control-plane",
  "node-role.kubernetes.io/master",
  "node-role.kubernetes.io/controlplane",
];

/** As the agent itself finds it (control plane specification, §4): undefined where no control-plane node shows. */
export async function controlPlaneAddress(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const nodes = (await client.list(NodeResource, { signal })).items;
  for (const label of CONTROL_PLANE_LABELS) {
    const labelled = nodes.filter((candidate) => candidate.metadata?.labels?.[label] !== undefined);
    const address = labelled.map(outsideAddress).find((candidate) => candidate !== undefined);
    if (address) return `https://${urlHost(address)}:6443`;
  }
  return undefined;
}

/** A source that is not there, or not readable, tells nothing. */
async function tolerate<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
