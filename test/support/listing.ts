import type { APIGroupList, APIResourceList } from "kubernetes-types/meta/v1";
import { keyOf, type KubeClient, type KubeList, type KubeObject } from "../../agent/runtime/index.js";

/**
 * What comes and goes by itself: events expire, metrics appear with the pods that run. Everything else counts,
 * certificate signing requests, leases and API services too.
 */
const VOLATILE = new Set(["events", "events.events.k8s.io"]);
/** Not served by the API server itself, which refuses even to name its resources while metrics-server is not ready. */
const METRICS = "metrics.k8s.io";

/** Every object of every kind that a cluster's API serves, as "resource namespace/name". */
export async function listEverything(client: KubeClient): Promise<Set<string>> {
  return new Set((await readEverything(client)).keys());
}

/** The same with the objects themselves. */
export async function readEverything(client: KubeClient): Promise<Map<string, KubeObject>> {
  const groups = await client.request<APIGroupList>("GET", "/apis");
  const versions = [
    "/api/v1",
    ...groups.groups
      .filter(({ name }) => name !== METRICS)
      .map(
        ({ name, versions: all, preferredVersion }) => `/apis/${name}/${preferredVersion?.version ?? all[0]?.version}`,
      ),
  ];
  const found = new Map<string, KubeObject>();
  for (const version of versions) {
    for (const [resource, path] of await listableResources(client, version)) {
      if (VOLATILE.has(resource)) continue;
      const list = await client.request<KubeList<KubeObject>>("GET", path);
      for (const item of list.items) found.set(`${resource} ${keyOf(item)}`, item);
    }
  }
  return found;
}

async function listableResources(client: KubeClient, version: string): Promise<[string, string][]> {
  const { resources, groupVersion } = await client.request<APIResourceList>("GET", version);
  const group = groupVersion.includes("/") ? `.${groupVersion.split("/")[0]}` : "";
  return resources
    .filter(({ name, verbs }) => !name.includes("/") && verbs.includes("list"))
    .map(({ name }) => [`${name}${group}`, `${version}/${name}`]);
}

/** What one listing has that the other has not, sorted. */
export function compareListings(before: Set<string>, after: Set<string>): { added: string[]; removed: string[] } {
  return {
    added: [...after].filter((entry) => !before.has(entry)).sort(),
    removed: [...before].filter((entry) => !after.has(entry)).sort(),
  };
}
