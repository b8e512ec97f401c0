import {
  Labels,
  Names,
  OFFLOADING,
  sliceKubeconfigSecretName,
  VirtualNodeResource,
  type OffloadingPatch,
  type VirtualNode,
} from "../../../agent/api/index.js";
import { NodeResource, SecretResource } from "../../../agent/runtime/index.js";
import { applyExactly } from "../../kube/apply-exactly.js";
import type { Peer } from "../../preconditions/index.js";
import { podProblems, waitFor, type Progress } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { judgeNode } from "../resource-slice/slice.js";
import { findTenantNamespace, MANAGER } from "../tenant-namespace/index.js";
import type { VirtualNodeInputs } from "./schema.js";

/** What of a VirtualNode is the program's alone, whoever has made it. */
const DECIDED = [
  ["spec", "resourceQuota", "hard"],
  ["spec", "labels"],
  ["spec", "annotations"],
  ["spec", "taints"],
  ["spec", "images"],
  ...[
    "nodeSelector",
    "affinity",
    "tolerations",
    "labelsNotReflected",
    "annotationsNotReflected",
    "runtimeClassName",
  ].map((field) => ["spec", "offloadingPatch", field]),
];

/** A VirtualNode as the inputs want it. */
export function virtualNodeManifest(
  inputs: Omit<VirtualNodeInputs, "cluster">,
  namespace: string,
  agentNamespace: string,
): { metadata: VirtualNode["metadata"]; spec: VirtualNode["spec"] } {
  const { name, providerClusterId, resourceSliceName } = inputs;
  return {
    metadata: {
      name,
      namespace,
      labels: {
        [Labels.remoteClusterID]: providerClusterId,
        ...(resourceSliceName ? { [Labels.resourceSliceName]: resourceSliceName } : {}),
      },
    },
    spec: {
      clusterID: providerClusterId,
      createNode: inputs.createNode,
      disableNetworkCheck: inputs.disableNetworkCheck,
      kubeconfigSecretRef: { name: secretNameOf(inputs) },
      resourceQuota: { hard: inputs.resources },
      labels: { ...inputs.labels, [Labels.remoteClusterID]: providerClusterId },
      ...(inputs.annotations ? { annotations: inputs.annotations } : {}),
      ...(inputs.taints ? { taints: inputs.taints } : {}),
      storageClasses: offered(inputs.storageClasses, (storageClassName) => ({ storageClassName })),
      ingressClasses: offered(inputs.ingressClasses, (ingressClassName) => ({ ingressClassName })),
      loadBalancerClasses: offered(inputs.loadBalancerClasses, (loadBalancerClassName) => ({ loadBalancerClassName })),
      ...patchOf(inputs),
      vkOptionsTemplateRef: {
        apiVersion: `${OFFLOADING.group}/${OFFLOADING.version}`,
        kind: "VkOptionsTemplate",
        name: inputs.vkOptionsTemplateName ?? Names.vkOptionsTemplate,
        namespace: inputs.vkOptionsTemplateNamespace ?? agentNamespace,
      },
      ...(inputs.template ? { template: inputs.template } : {}),
      ...(inputs.images ? { images: inputs.images } : {}),
    },
  };
}

/** The kubeconfig that the node's process uses on the provider. */
export function secretNameOf({
  kubeconfigSecretName: given,
  resourceSliceName = "",
}: Pick<VirtualNodeInputs, "kubeconfigSecretName" | "resourceSliceName">): string {
  return given ?? sliceKubeconfigSecretName(resourceSliceName);
}

function patchOf(inputs: Omit<VirtualNodeInputs, "cluster">): { offloadingPatch?: OffloadingPatch } {
  const { nodeSelector, nodeAffinity, tolerations, labelsNotReflected, annotationsNotReflected, runtimeClassName } =
    inputs;
  const affinity = nodeAffinity && { nodeAffinity };
  const wanted = { nodeSelector, affinity, tolerations, labelsNotReflected, annotationsNotReflected, runtimeClassName };
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return given.length === 0 ? {} : { offloadingPatch: Object.fromEntries(given) };
}

/** The first is the default. */
function offered<T extends object>(
  names: readonly string[] = [],
  make: (name: string) => T,
): (T & { default: boolean })[] {
  return names.map((name, index) => ({ ...make(name), default: index === 0 }));
}

/** Makes or changes the VirtualNode, and waits for its Node. `begun` is told before anything is written. */
export async function establishVirtualNode(
  progress: Progress,
  consumer: Peer,
  inputs: VirtualNodeInputs,
  begun: (namespace: string) => void,
): Promise<string> {
  const { client } = consumer;
  const namespace = (await findTenantNamespace(client, inputs.providerClusterId, progress.signal))?.metadata?.name;
  if (!namespace) {
    throw new Error(
      `providerClusterId: cluster ${client.cluster} has no tenant namespace for ${inputs.providerClusterId}: peer with it first`,
    );
  }
  const secret = { name: secretNameOf(inputs), namespace };
  await waitFor(progress, {
    client,
    type: SecretResource,
    ...secret,
    what: `the identity of the virtual node (Secret ${namespace}/${secret.name})`,
    judge: ([found]) =>
      found?.data?.["kubeconfig"] ? { done: undefined } : { waiting: "there is no such Secret with a kubeconfig" },
  });
  const manifest = virtualNodeManifest(inputs, namespace, consumer.agentNamespace);
  begun(namespace);
  const options = { fieldManager: MANAGER, signal: progress.signal };
  await applyExactly(client, VirtualNodeResource, manifest, options, DECIDED);
  progress.status(`virtual node ${inputs.name} applied`);
  if (inputs.createNode) await waitForNode(progress, consumer, namespace, inputs);
  return namespace;
}

async function waitForNode(
  progress: Progress,
  consumer: Peer,
  namespace: string,
  inputs: VirtualNodeInputs,
): Promise<void> {
  await waitFor(progress, {
    client: consumer.client,
    type: NodeResource,
    name: inputs.name,
    what: `Node ${inputs.name}`,
    judge: ([node]) => judgeNode(node, inputs.resources),
    explain: async (signal) =>
      (await podProblems(consumer.client, namespace, { [Labels.virtualNode]: inputs.name }, signal)) ??
      explainAgent(consumer, signal),
  });
  progress.status(`virtual node ${inputs.name} is ready`);
}
