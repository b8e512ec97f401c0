import type { ObjectMeta, OwnerReference } from "kubernetes-types/meta/v1";
import type { KubeClient } from "./kube-client.js";
import { apiVersionOf, type KubeObject, type ResourceType } from "./resource-type.js";

/** An owner reference for garbage collection; `controller` marks the one owner that reconciles. */
export function ownerReference<T extends KubeObject>(
  type: ResourceType<T>,
  owner: T,
  controller = true,
): OwnerReference {
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name: owner.metadata?.name ?? "",
    uid: owner.metadata?.uid ?? "",
    ...(controller ? { controller: true, blockOwnerDeletion: true } : {}),
  };
}

/**
 * The same for owners whose deletion need not wait for what they own. `blockOwnerDeletion` takes the right to update the owner's finalizers where the
 * cluster enforces it (admission plugin OwnerReferencesPermissionEnforcement, default in OpenShift): too much to ask for, of nodes and pods above all.
 */
export function nonBlockingOwnerReference<T extends KubeObject>(type: ResourceType<T>, owner: T): OwnerReference {
  return { ...ownerReference(type, owner, false), controller: true };
}

type Identity = Pick<ObjectMeta, "name" | "namespace" | "uid" | "resourceVersion" | "deletionTimestamp">;

/** Which object it is, at which version, and whether it goes: what informers that trim objects keep of each. */
export function identityMetadata({ metadata }: KubeObject): Identity {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata ?? {};
  return { name, namespace, uid, resourceVersion, deletionTimestamp };
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata?.finalizers?.includes(finalizer) ?? false;
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata?.deletionTimestamp !== undefined;
}

/** Whether an object goes with another one, by its owner references. */
export function isOwnedBy(object: KubeObject, { metadata }: KubeObject): boolean {
  return object.metadata?.ownerReferences?.some(({ uid }) => uid === metadata?.uid) ?? false;
}

/** Adds a finalizer; a conflict (409) means that the object changed meanwhile: retry on the next pass. */
export function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  return setFinalizers(client, type, object, [...(object.metadata?.finalizers ?? []), finalizer]);
}

export function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  return setFinalizers(
    client,
    type,
    object,
    (object.metadata?.finalizers ?? []).filter((f) => f !== finalizer),
  );
}

function setFinalizers<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizers: string[],
): Promise<T> {
  const { name = "", namespace, resourceVersion } = object.metadata ?? {};
  return client.mergePatch(type, { name, namespace }, { metadata: { resourceVersion, finalizers } });
}

/** Whether a controller owns the object, and makes another one when it goes. */
export function hasController({ metadata }: KubeObject): boolean {
  return metadata?.ownerReferences?.some(({ controller }) => controller) ?? false;
}
