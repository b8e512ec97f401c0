import { customResourceName, type CustomResourceName } from "../../api/custom-resource.js";
import type { KubeObject, ResourceType } from "../../runtime/index.js";
import type { ReflectedKind } from "./reflected-kind.js";
import { isReflectable } from "./reflected-metadata.js";

/** An object whose fields nobody here knows. */
export type CustomResourceObject = KubeObject & { status?: unknown };

export function customResourceType(name: CustomResourceName): ResourceType<CustomResourceObject> {
  return { ...name, namespaced: true };
}

/**
 * A custom resource that the administrators of both clusters want reflected: all but its status, which is each cluster's own. Its copy is never made anew in place of
 * an update that the provider refuses: with it might go what it stands for.
 */
export function customResourceKind(
  type: ResourceType<CustomResourceObject>,
): ReflectedKind<CustomResourceObject, CustomResourceObject> {
  return {
    name: customResourceName(type),
    local: type,
    remote: type,
    accepts: ({ metadata }, { policy }) => isReflectable(metadata?.annotations, policy),
    forge: ({ apiVersion: _apiVersion, kind: _kind, metadata: _metadata, status: _status, ...rest }) => rest,
  };
}

/** Whatever becomes of it in this cluster is of no concern. */
export function withoutStatus({ status: _, ...object }: CustomResourceObject): CustomResourceObject {
  return object;
}
