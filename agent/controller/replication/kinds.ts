import {
  NamespaceMapResource,
  RenewResource,
  ResourceSliceResource,
  type CustomResource,
  type CustomObject,
} from "../../api/index.js";
import type { ResourceType } from "../../runtime/index.js";

/** A replicated object, whatever its kind: spec goes to the provider, status comes back. */
export type ReplicatedObject = CustomObject<unknown, unknown>;
export type ReplicatedKind = ResourceType<ReplicatedObject>;

function replicated<T extends CustomObject<unknown, unknown>>(type: CustomResource<T>): ReplicatedKind {
  return type;
}

/** What is replicated (control plane specification, §9). */
export const REPLICATED_KINDS: readonly ReplicatedKind[] = [
  replicated(ResourceSliceResource),
  replicated(NamespaceMapResource),
  replicated(RenewResource),
];
