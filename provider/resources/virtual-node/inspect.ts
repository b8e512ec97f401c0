import { Labels, Names, quantitiesEqual, VirtualNodeResource, type VirtualNode } from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import type { Peer } from "../../preconditions/index.js";
import { judgeNode, textual } from "../resource-slice/slice.js";
import { findTenantNamespace } from "../tenant-namespace/index.js";
import { virtualNodeInputs, type VirtualNodeInputs, type VirtualNodeOutputs } from "./schema.js";
import { virtualNodeManifest } from "./virtual-node.js";

export interface FoundVirtualNode {
  inputs: VirtualNodeInputs;
  outputs: VirtualNodeOutputs;
}

/** What is there of a virtual node; undefined when there is none. */
export async function inspectVirtualNode(
  consumer: Peer,
  id: { providerClusterId: string; name: string },
  inputs: VirtualNodeInputs | undefined,
  signal: AbortSignal,
): Promise<FoundVirtualNode | undefined> {
  const { client } = consumer;
  const namespace = (await findTenantNamespace(client, id.providerClusterId, signal))?.metadata?.name;
  if (!namespace) return undefined;
  const [virtualNode, node] = await Promise.all([
    client.get(VirtualNodeResource, { name: id.name, namespace }, signal),
    client.get(NodeResource, { name: id.name }, signal),
  ]);
  if (!virtualNode) return undefined;
  const observed = observedInputs(virtualNode, id, consumer, inputs);
  const isReady = "done" in judgeNode(node, observed.resources);
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: consumer.clusterId,
      tenantNamespace: namespace,
      ...(node ? { nodeName: id.name } : {}),
      drift: [
        ...(inputs ? deviationsOf(virtualNode, expected(virtualNode, observed, namespace, consumer, inputs)) : []),
        ...(observed.createNode && !isReady ? ["the node is missing or not ready"] : []),
      ],
    },
  };
}

/** What is to be there. The default options need not be named, as a ResourceSlice's own virtual node does not name them. */
function expected(
  { spec: live }: VirtualNode,
  observed: VirtualNodeInputs,
  namespace: string,
  { agentNamespace }: Peer,
  inputs: VirtualNodeInputs,
) {
  const { metadata, spec } = virtualNodeManifest(observed, namespace, agentNamespace);
  const namesNone = live.vkOptionsTemplateRef?.name === undefined && inputs.vkOptionsTemplateName === undefined;
  return addObjectMetadata(
    { metadata, spec: { ...spec, ...(namesNone ? { vkOptionsTemplateRef: undefined } : {}) } },
    inputs,
  );
}

function observedInputs(
  { spec, metadata }: VirtualNode,
  id: { providerClusterId: string; name: string },
  { agentNamespace }: Peer,
  inputs: VirtualNodeInputs | undefined,
): VirtualNodeInputs {
  const live = textual(spec.resourceQuota?.hard ?? {});
  const resources = Object.fromEntries(
    Object.entries(live).map(([name, quantity]) => {
      const asked = inputs?.resources[name];
      return [name, asked !== undefined && quantitiesEqual(asked, quantity) ? asked : quantity];
    }),
  );
  const switches = { createNode: spec.createNode ?? true, disableNetworkCheck: spec.disableNetworkCheck ?? false };
  if (inputs) return { ...inputs, resources, ...switches };
  return importedInputs({ spec, metadata }, agentNamespace, { ...id, resources, ...switches });
}

/** All that the VirtualNode says and is not there by default. */
function importedInputs(
  { spec, metadata }: Pick<VirtualNode, "spec" | "metadata">,
  agentNamespace: string,
  known: object,
): VirtualNodeInputs {
  const slice = metadata.labels?.[Labels.resourceSliceName];
  const { name: options, namespace: optionsNamespace } = spec.vkOptionsTemplateRef ?? {};
  const labels = Object.entries(spec.labels ?? {}).filter(([key]) => key !== Labels.remoteClusterID);
  const found = {
    ...known,
    resourceSliceName: slice,
    kubeconfigSecretName: slice ? undefined : spec.kubeconfigSecretRef?.name,
    labels: Object.fromEntries(labels),
    annotations: spec.annotations,
    taints: spec.taints,
    nodeSelector: spec.offloadingPatch?.nodeSelector,
    nodeAffinity: spec.offloadingPatch?.affinity?.nodeAffinity,
    tolerations: spec.offloadingPatch?.tolerations,
    labelsNotReflected: spec.offloadingPatch?.labelsNotReflected,
    annotationsNotReflected: spec.offloadingPatch?.annotationsNotReflected,
    runtimeClassName: spec.offloadingPatch?.runtimeClassName,
    storageClasses: defaultFirst(spec.storageClasses).map(({ storageClassName }) => storageClassName),
    ingressClasses: defaultFirst(spec.ingressClasses).map(({ ingressClassName }) => ingressClassName),
    loadBalancerClasses: defaultFirst(spec.loadBalancerClasses).map(
      ({ loadBalancerClassName }) => loadBalancerClassName,
    ),
    vkOptionsTemplateName: options === Names.vkOptionsTemplate ? undefined : options,
    vkOptionsTemplateNamespace: optionsNamespace === agentNamespace ? undefined : optionsNamespace,
    // A whole Deployment, with its selector, is what Liqo has filled in: nobody asked for it.
    template: spec.template?.spec?.selector ? undefined : spec.template,
    images: spec.images,
  };
  const said = Object.entries(found).filter(([key, value]) => key in known || !isEmpty(value));
  return virtualNodeInputs.parse(Object.fromEntries(said));
}

/** As the inputs name them. */
function defaultFirst<T extends { default?: boolean }>(classes: readonly T[] = []): T[] {
  return [...classes].sort((a, b) => Number(b.default ?? false) - Number(a.default ?? false));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
