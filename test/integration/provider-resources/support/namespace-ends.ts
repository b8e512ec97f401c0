import { definedResources } from "../../../../agent/api/index.js";
import {
  DeploymentResource,
  NamespaceResource,
  RoleBindingResource,
  SecretResource,
  type KubeClient,
  type ResourceType,
} from "../../../../agent/runtime/index.js";
import { ifFound } from "../../../../provider/waits/if-found.js";
import { snapshots } from "../../../../provider/waits/snapshots.js";

/** What peerings leave in their namespaces. */
const CONTENT: ResourceType[] = [SecretResource, DeploymentResource, RoleBindingResource];

/** Ends namespaces that are being deleted, with what is in them, at once: Kubernetes' own controller takes at least five seconds over each. Until the signal. */
export async function endNamespaces(client: KubeClient, signal: AbortSignal): Promise<void> {
  const types: ResourceType[] = [...CONTENT, ...definedResources()].filter(({ namespaced }) => namespaced);
  for await (const namespaces of snapshots(client, NamespaceResource, {}, signal)) {
    for (const { metadata, ...namespace } of namespaces) {
      if (metadata?.deletionTimestamp === undefined) continue;
      const name = metadata.name ?? "";
      const lists = await Promise.all(types.map((type) => ifFound(client.list(type, { namespace: name }))));
      await Promise.all(
        types.flatMap((type, index) =>
          (lists[index]?.items ?? []).map((object) =>
            client.delete(type, { name: object.metadata?.name ?? "", namespace: name }),
          ),
        ),
      );
      const body = { ...namespace, apiVersion: "v1", kind: "Namespace", metadata, spec: { finalizers: [] } };
      // Somebody else's end of it, or one of an earlier look.
      await client.request("PUT", `/api/v1/namespaces/${name}/finalize`, { body }).catch(() => undefined);
    }
  }
}
