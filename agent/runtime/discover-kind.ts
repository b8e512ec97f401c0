import type { APIResourceList } from "kubernetes-types/meta/v1";
import type { KubeClient } from "./kube-client.js";
import { isNotFound } from "./kube-error.js";
import type { ResourceType } from "./resource-type.js";

/** A kind as the API server has it; undefined where it has no such kind. @throws KubeError */
export async function discoverKind(
  client: Pick<KubeClient, "request">,
  apiVersion: string,
  kind: string,
  signal?: AbortSignal,
): Promise<ResourceType | undefined> {
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  try {
    const { resources } = await client.request<APIResourceList>("GET", path, { signal });
    const found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
    return found && { ...splitVersion(apiVersion), kind, plural: found.name, namespaced: found.namespaced };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** "apps/v1" as group and version; the core group has no name. */
export function splitVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
