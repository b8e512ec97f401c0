import { ResourceSliceResource, VirtualNodeResource } from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import { APPLY, type NeededIn, type NeededRight, type Pair } from "../../preconditions/index.js";
import { expectedNamespace } from "../tenant-namespace/index.js";
import type { ResourceSliceInputs } from "./schema.js";

/** What a slice needs to be allowed; the tenant namespaces are the Authentication's business. */
export function sliceRights(
  { consumer, provider }: Pair,
  { createVirtualNode, cordoned }: Pick<ResourceSliceInputs, "createVirtualNode" | "cordoned">,
  signal: AbortSignal,
): NeededIn[] {
  const inConsumer = async (): Promise<NeededRight[]> => {
    const namespace = await expectedNamespace(consumer.client, provider.clusterId, signal);
    const slice = { type: ResourceSliceResource, verbs: APPLY, namespace };
    const node = [
      { type: VirtualNodeResource, verbs: ["get"], namespace },
      { type: NodeResource, verbs: ["get"] },
    ];
    return [slice, ...(createVirtualNode ? node : [])];
  };
  const inProvider = async (): Promise<NeededRight[]> => {
    const namespace = await expectedNamespace(provider.client, consumer.clusterId, signal);
    return [{ type: ResourceSliceResource, verbs: ["get", "patch"], namespace }];
  };
  return [
    { where: "consumer", client: consumer.client, rights: inConsumer },
    { where: "provider", client: provider.client, rights: cordoned ? inProvider : [] },
  ];
}
