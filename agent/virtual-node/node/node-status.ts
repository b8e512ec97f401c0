import type { NodeStatus } from "kubernetes-types/core/v1";
import { resourceListsEqual, type Quantities, type VirtualNode } from "../../api/index.js";
import type { VirtualNodeConfig } from "../arguments.js";
import { desiredNodeMetadata } from "./node-metadata.js";
import { nodeConditions, sameConditions, type NodeConditionInputs } from "./node-conditions.js";

/**
 * What a consumer's API server and scheduler (Kubernetes 1.36 and later) ask of no node that does not say it can: resizing the processor time of pods of the class Guaranteed, init containers,
 * and of pods as a whole, and rules that start all containers again. They are taken to the provider, which refuses by itself what its nodes cannot. In order.
 */
const DECLARED_FEATURES = [
  "GuaranteedQoSPodCPUResize",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
];

/** Younger than the published types. */
type DeclaringStatus = NodeStatus & { declaredFeatures?: string[] };

export interface NodeStatusInputs extends Omit<NodeConditionInputs, "allocatable" | "present"> {
  config: VirtualNodeConfig;
  virtualNode: VirtualNode;
  /** gitVersion of the consumer's API server. */
  kubeletVersion: string;
  present?: NodeStatus;
}

/** The status of a virtual Node: all that the slice grants, and where its kubelet API is (offloading specification, §3). */
export function desiredNodeStatus(inputs: NodeStatusInputs): DeclaringStatus {
  const { config, virtualNode, kubeletVersion, present } = inputs;
  const resources = textQuantities(virtualNode.spec.resourceQuota?.hard ?? {});
  const { labels } = desiredNodeMetadata(config, virtualNode);
  return {
    addresses: [{ type: "InternalIP", address: config.nodeIp }],
    daemonEndpoints: { kubeletEndpoint: { Port: config.kubeletPort } },
    capacity: resources,
    allocatable: resources,
    conditions: nodeConditions({ ...inputs, allocatable: resources, present: present?.conditions }),
    declaredFeatures: DECLARED_FEATURES,
    images: virtualNode.spec.images ?? [],
    nodeInfo: {
      architecture: labels["kubernetes.io/arch"] ?? "",
      bootID: "",
      containerRuntimeVersion: "",
      kernelVersion: "",
      kubeProxyVersion: "",
      kubeletVersion,
      machineID: "",
      operatingSystem: "Linux",
      osImage: "",
      systemUUID: "",
    },
  };
}

/** The merge patch for `nodes/status`; resources that are not granted any more are removed. */
export function nodeStatusPatch(present: NodeStatus | undefined, desired: NodeStatus): object {
  return {
    status: {
      ...desired,
      capacity: withRemovals(present?.capacity, desired.capacity),
      allocatable: withRemovals(present?.allocatable, desired.allocatable),
    },
  };
}

/** Whether a write would tell anything new, heartbeats aside. Declared features never do: an API server that does not know of them drops them each time. */
export function nodeStatusDiffers(present: NodeStatus | undefined, desired: NodeStatus): boolean {
  return !(
    present &&
    resourceListsEqual(present.capacity, desired.capacity) &&
    resourceListsEqual(present.allocatable, desired.allocatable) &&
    sameConditions(present.conditions, desired.conditions) &&
    present.addresses?.length === 1 &&
    present.addresses[0]?.address === desired.addresses?.[0]?.address &&
    present.daemonEndpoints?.kubeletEndpoint?.Port === desired.daemonEndpoints?.kubeletEndpoint?.Port &&
    present.nodeInfo?.kubeletVersion === desired.nodeInfo?.kubeletVersion &&
    present.nodeInfo?.architecture === desired.nodeInfo?.architecture &&
    JSON.stringify(present.images ?? []) === JSON.stringify(desired.images ?? [])
  );
}

function withRemovals(
  present: Record<string, string> = {},
  desired: Record<string, string> = {},
): Record<string, string | null> {
  const stale = Object.keys(present).filter((name) => !(name in desired));
  return { ...Object.fromEntries(stale.map((name) => [name, null])), ...desired };
}

function textQuantities(quantities: Quantities): Record<string, string> {
  return Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, String(value)]));
}
