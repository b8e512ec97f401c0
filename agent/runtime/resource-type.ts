import type { ObjectMeta } from "kubernetes-types/meta/v1";

/** What every Kubernetes object has. Types of kubernetes-types and of agent/api are assignable to it. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** Names a kind to the API server, and carries the TypeScript type of its objects. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Phantom: never set, gives inference the object's type. */
  readonly object?: T;
}

/** Group and version as objects write it: "v1", "networking.liqo.io/v1beta1". */
export function apiVersionOf(type: ResourceType): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** How messages name an object: "ResourceSlice liqo-tenant-b/b", "Node worker". */
export function describeObject(type: ResourceType, name: string, namespace?: string): string {
  return namespace ? `${type.kind} ${namespace}/${name}` : `${type.kind} ${name}`;
}

/** The key that informers and queues use: "namespace/name", or "name" for cluster-wide kinds. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name ?? ""}` : (name ?? "");
}

/** The opposite of keyOf. */
export function splitKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
