import type { Namespace } from "kubernetes-types/core/v1";
import { NamespaceResource } from "../../agent/runtime/core-resources.js";
import type { ApplyOptions, DeepPartial, KubeClient } from "../../agent/runtime/kube-client.js";
import { isForbidden } from "../../agent/runtime/kube-error.js";
import type { KubeObject, ResourceType } from "../../agent/runtime/resource-type.js";
import type { ObjectMetadata } from "../framework/object-metadata.js";

/** Clients that label what they apply, with what they put on it. */
const marking = new WeakMap<KubeClient, ObjectMetadata>();

/** A client of the same cluster that puts these labels and annotations on everything it applies; what an object says itself comes first. */
export function withObjectMetadata(client: KubeClient, metadata: Partial<ObjectMetadata>): KubeClient {
  const { objectLabels = {}, objectAnnotations = {} } = metadata;
  if (Object.keys(objectLabels).length + Object.keys(objectAnnotations).length === 0) return client;
  const marked = Object.create(client) as KubeClient;
  marked.apply = <T extends KubeObject>(type: ResourceType<T>, object: DeepPartial<T>, options: ApplyOptions) =>
    client.apply(type, addObjectMetadata(object, { objectLabels, objectAnnotations }), options);
  marking.set(marked, { objectLabels, objectAnnotations });
  return marked;
}

/** A manifest with labels and annotations beneath its own. */
export function addObjectMetadata<T extends object>(
  manifest: T,
  { objectLabels = {}, objectAnnotations = {} }: Partial<ObjectMetadata>,
): T {
  const { metadata } = manifest as KubeObject;
  const beneath = (given: Record<string, string>, own: Record<string, string> | undefined) =>
    Object.keys(given).length > 0 ? { ...given, ...own } : own;
  const labels = beneath(objectLabels, metadata?.labels);
  const annotations = beneath(objectAnnotations, metadata?.annotations);
  return {
    ...manifest,
    metadata: { ...metadata, ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) },
  };
}

/**
 * Puts the client's labels and annotations on a namespace that several resources share: each of them by a field manager of its own, so that none
 * takes off what another has put there. Without a request where there is nothing to put on or take off.
 */
export async function markSharedNamespace(
  client: KubeClient,
  namespace: Namespace,
  fieldManager: string,
  signal: AbortSignal,
): Promise<void> {
  const isManaged = namespace.metadata?.managedFields?.some(({ manager }) => manager === fieldManager) ?? false;
  if (!marking.has(client) && !isManaged) return;
  try {
    const metadata = { name: namespace.metadata?.name };
    await client.apply(NamespaceResource, { metadata }, { fieldManager, signal });
  } catch (error) {
    // A peering user may not touch namespaces.
    if (!isForbidden(error)) throw error;
  }
}
