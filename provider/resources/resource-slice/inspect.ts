import {
  Annotations,
  asksForVirtualNode,
  Labels,
  quantitiesEqual,
  ResourceSliceResource,
  VirtualNodeResource,
  type Quantity,
  type ResourceSlice,
} from "../../../agent/api/index.js";
import { isForbidden, NodeResource, type KubeClient } from "../../../agent/runtime/index.js";
import type { Pair } from "../../preconditions/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import { findTenantNamespaces, namesOf } from "../tenant-namespace/index.js";
import type { ResourceSliceInputs, ResourceSliceOutputs } from "./schema.js";
import { judgeCondition, judgeNode, judgeVirtualNode, sliceManifest, textual } from "./slice.js";

export interface FoundSlice {
  inputs: ResourceSliceInputs;
  outputs: ResourceSliceOutputs;
}

const HIDDEN = Symbol("hidden");

/** What is there of a slice; undefined when the consumer does not ask for it any more. */
export async function inspectSlice(
  pair: Pair,
  name: string,
  inputs: ResourceSliceInputs,
  isImport: boolean,
  signal: AbortSignal,
): Promise<FoundSlice | undefined> {
  const { consumer, provider } = pair;
  const namespaces = namesOf(await findTenantNamespaces(pair, signal));
  if (!namespaces.consumer) return undefined;
  const id = { name, namespace: namespaces.consumer };
  const [slice, virtualNode, node, copy] = await Promise.all([
    consumer.client.get(ResourceSliceResource, id, signal),
    consumer.client.get(VirtualNodeResource, id, signal),
    consumer.client.get(NodeResource, { name }, signal),
    namespaces.provider ? copyOf(provider.client, { name, namespace: namespaces.provider }, signal) : undefined,
  ]);
  if (!slice || slice.metadata.labels?.[Labels.replicated] === "true") return undefined;
  const observed = observedInputs(inputs, slice, copy === HIDDEN ? undefined : copy);
  const ids = { consumerId: consumer.clusterId, providerId: provider.clusterId, namespace: namespaces.consumer };
  const granted = textual(slice.status?.resources ?? {});
  const hasNode = virtualNode !== undefined;
  const wantsNode = isImport ? observed.createVirtualNode : inputs.createVirtualNode;
  const wanted = addObjectMetadata(withoutOwnNames(sliceManifest(ids, name, observed), slice), inputs);
  const drift = [
    ...(isImport ? [] : deviationsOf(slice, wanted, "consumer")),
    ...(["Authentication", "Resources"] as const).map((type) => notAccepted(slice, type)),
    copy === undefined && "provider: the ResourceSlice's copy is missing",
    wantsNode && !hasNode && "consumer: the virtual node is missing",
    hasNode &&
      wantsNode &&
      !("done" in judgeVirtualNode(virtualNode, granted)) &&
      "consumer: the virtual node does not offer what was granted",
    hasNode &&
      wantsNode &&
      virtualNode.spec.createNode !== false &&
      !("done" in judgeNode(node, granted)) &&
      "consumer: the node is not ready",
  ].filter((line) => typeof line === "string");
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: consumer.clusterId,
      providerClusterId: provider.clusterId,
      tenantNamespaces: namespaces,
      sliceName: name,
      acceptedResources: granted,
      ...(hasNode ? { virtualNodeName: name } : {}),
      drift,
    },
  };
}

/** Other tools leave it to the agents to write the clusters' IDs into the slice: their absence is no drift. */
function withoutOwnNames(
  { metadata, spec }: ReturnType<typeof sliceManifest>,
  { spec: live }: ResourceSlice,
): ReturnType<typeof sliceManifest> {
  const { consumerClusterID, providerClusterID, ...rest } = spec;
  return {
    metadata,
    spec: {
      ...rest,
      ...(live.consumerClusterID ? { consumerClusterID } : {}),
      ...(live.providerClusterID ? { providerClusterID } : {}),
    },
  };
}

/** The provider's copy; a peering user may not look. */
async function copyOf(
  client: KubeClient,
  id: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<ResourceSlice | typeof HIDDEN | undefined> {
  try {
    return await client.get(ResourceSliceResource, id, signal);
  } catch (error) {
    if (isForbidden(error)) return HIDDEN;
    throw error;
  }
}

function notAccepted(slice: ResourceSlice, type: "Authentication" | "Resources"): string | false {
  return !("done" in judgeCondition(slice, type)) && `consumer: the slice's ${type} is not accepted`;
}

/** What the program says, where that means the same as what is there. */
function observedInputs(
  inputs: ResourceSliceInputs,
  slice: ResourceSlice,
  copy: ResourceSlice | undefined,
): ResourceSliceInputs {
  const live = textual(slice.spec.resources ?? {});
  const resources = Object.fromEntries(
    Object.entries(live).map(([name, quantity]) => [name, preferEqual(inputs.resources[name], quantity)]),
  );
  return {
    ...inputs,
    resources,
    class: slice.spec.class || inputs.class,
    createVirtualNode: asksForVirtualNode(slice.metadata.annotations),
    cordoned: copy ? copy.metadata.annotations?.[Annotations.cordon] === "true" : inputs.cordoned,
  };
}

function preferEqual(asked: Quantity | undefined, live: string): string {
  return asked !== undefined && quantitiesEqual(asked, live) ? String(asked) : live;
}
