import { ResourceSliceResource, VirtualNodeResource } from "../../../agent/api/index.js";
import { NodeResource } from "../../../agent/runtime/index.js";
import { APPLY, type NeededIn, type Pair } from "../../preconditions/index.js";
import { expectedNamespaces } from "../tenant-namespace/index.js";
import type { ResourceSliceInputs } from "./schema.js";

/** What a slice needs to be allowed; the tenant namespaces are the Authentication's business. */
export async function sliceRights(
  pair: Pair,
  { createVirtualNode, cordoned }: Pick<ResourceSliceInputs, "createVirtualNode" | "cordoned">,
  signal: AbortSignal,
): Promise<NeededIn[]> {
  const namespaces = await expectedNamespaces(pair, signal);
  const { consumer, provider } = pair;
  const node = [
    { type: VirtualNodeResource, verbs: ["get"], namespace: namespaces.consumer },
    { type: NodeResource, verbs: ["get"] },
  ];
  const slice = { type: ResourceSliceResource, verbs: APPLY, namespace: namespaces.consumer };
  const copy = { type: ResourceSliceResource, verbs: ["get", "patch"], namespace: namespaces.provider };
  return [
    { where: "consumer", client: consumer.client, rights: [slice, ...(createVirtualNode ? node : [])] },
    { where: "provider", client: provider.client, rights: cordoned ? [copy] : [] },
  ];
}
