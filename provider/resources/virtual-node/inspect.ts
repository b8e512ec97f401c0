import { Labels, quantitiesEqual, VirtualNodeResource, type VirtualNode } from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { judgeNode, textual } from "../resource-slice/slice.js";
import { findTenantNamespace } from "../tenant-namespace/index.js";
import type { VirtualNodeInputs, VirtualNodeOutputs } from "./schema.js";

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
  const observed = observedInputs(virtualNode, id, inputs);
  const isReady = "done" in judgeNode(node, observed.resources);
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: consumer.clusterId,
      tenantNamespace: namespace,
      ...(node ? { nodeName: id.name } : {}),
      drift: observed.createNode && !isReady ? ["the node is missing or not ready"] : [],
    },
  };
}

function observedInputs(
  { spec, metadata }: VirtualNode,
  id: { providerClusterId: string; name: string },
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
  const slice = metadata.labels?.[Labels.resourceSliceName];
  return {
    ...id,
    resources,
    ...switches,
    ...(slice ? { resourceSliceName: slice } : { kubeconfigSecretName: spec.kubeconfigSecretRef?.name }),
    labels: spec.labels,
    ...(spec.offloadingPatch?.nodeSelector ? { nodeSelector: spec.offloadingPatch.nodeSelector } : {}),
  };
}
