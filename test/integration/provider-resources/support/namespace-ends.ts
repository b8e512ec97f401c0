import type { Namespace } from "kubernetes-types/core/v1";
import { definedResources } from "../../../../agent/api/index.js";
import {
  DeploymentResource,
  isDeleting,
  NamespaceResource,
  RoleBindingResource,
  SecretResource,
  type KubeClient,
  type ResourceType,
} from "../../../../agent/runtime/index.js";
import { ifFound } from "../../../../provider/waits/if-found.js";
import { snapshots } from "../../../../provider/waits/snapshots.js";
import { untilAnswered } from "./simulated-agents.js";

/** What peerings leave in their namespaces. */
const CONTENT: ResourceType[] = [SecretResource, DeploymentResource, RoleBindingResource];

/** Ends namespaces that are being deleted, with what is in them, at once: Kubernetes' own controller takes at least five seconds over each. Until the signal. */
export async function endNamespaces(client: KubeClient, signal: AbortSignal): Promise<void> {
  const types: ResourceType[] = [...CONTENT, ...definedResources()].filter(({ namespaced }) => namespaced);
  for await (const namespaces of snapshots(client, NamespaceResource, {}, signal)) {
    for (const namespace of namespaces) {
      if (isDeleting(namespace)) await untilAnswered(() => end(client, namespace, types), signal);
    }
  }
}

async function end(client: KubeClient, namespace: Namespace, types: ResourceType[]): Promise<void> {
  const { name = "" } = namespace.metadata ?? {};
  // Again until there is nothing: what was under way when the namespace was deleted may come after a look.
  for (;;) {
    const found = await Promise.all(
      types.map(async (type) => {
        const list = await ifFound(client.list(type, { namespace: name }));
        const left = (list?.items ?? []).filter((object) => !isDeleting(object));
        return left.map(({ metadata }) => ({ type, name: metadata?.name ?? "" }));
      }),
    );
    if (found.flat().length === 0) break;
    await Promise.all(found.flat().map(({ type, name: one }) => client.delete(type, { name: one, namespace: name })));
  }
  const body = { ...namespace, apiVersion: "v1", kind: "Namespace", spec: { finalizers: [] } };
  // Somebody else's end of it, or one of an earlier look.
  await client.request("PUT", `/api/v1/namespaces/${name}/finalize`, { body }).catch(() => undefined);
}
