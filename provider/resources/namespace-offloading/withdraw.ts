import type { Pod } from "kubernetes-types/core/v1";
import { Labels, Names, NamespaceOffloadingResource } from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  DaemonSetResource,
  DeploymentResource,
  IngressResource,
  isDeleting,
  NamespaceResource,
  PersistentVolumeClaimResource,
  PodResource,
  SecretResource,
  ServiceResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../../agent/runtime/index.js";
import type { Peer } from "../../preconditions/index.js";
import { ifFound, waitUntilGone, type Progress } from "../../waits/index.js";
import { explainAgent } from "../network-link/explain.js";
import { MANAGER } from "../tenant-namespace/index.js";
import { bringPodsHome } from "./bring-home.js";

const workload = (group: string, kind: string, plural: string): ResourceType => ({
  group,
  version: "v1",
  kind,
  plural,
  namespaced: true,
});

/** What a user may have put into a namespace. */
const CONTENT: readonly ResourceType[] = [
  DeploymentResource,
  workload("apps", "StatefulSet", "statefulsets"),
  DaemonSetResource,
  workload("batch", "Job", "jobs"),
  workload("batch", "CronJob", "cronjobs"),
  PodResource,
  ServiceResource,
  IngressResource,
  ConfigMapResource,
  SecretResource,
  PersistentVolumeClaimResource,
];

/** Takes the namespace back from the providers (offloading specification, §4.5), and deletes it if it was made here and is empty. */
export async function withdrawOffloading(
  progress: Progress,
  consumer: Peer,
  namespace: string,
  isCreatedHere: boolean,
): Promise<void> {
  const { client } = consumer;
  const id = { name: Names.namespaceOffloading, namespace };
  const present = await ifFound(client.get(NamespaceOffloadingResource, id, progress.signal));
  if (present) {
    if (!isDeleting(present)) {
      // What is refused, as for data that would be lost, must be refused before any pod is moved.
      await client.delete(NamespaceOffloadingResource, id, { dryRun: true, signal: progress.signal });
      await bringPodsHome(progress, consumer, namespace);
    }
    await client.delete(NamespaceOffloadingResource, id, { signal: progress.signal });
    progress.status(`namespace ${namespace}: the providers' namespaces are being deleted`);
    await waitUntilGone(progress, client, NamespaceOffloadingResource, id, (signal) => explainAgent(consumer, signal));
    progress.status(`namespace ${namespace}: not offloaded any more`);
  }
  if (isCreatedHere) await deleteNamespace(progress, client, namespace);
}

async function deleteNamespace(progress: Progress, client: KubeClient, name: string): Promise<void> {
  const namespace = await client.get(NamespaceResource, { name }, progress.signal);
  if (!namespace || isDeleting(namespace) || namespace.metadata?.labels?.[Labels.appManagedBy] !== MANAGER) return;
  const content = await contentOf(client, name, progress.signal);
  if (content.length > 0) {
    progress.log(
      "warning",
      `namespace ${name} stays, as it holds ${content.slice(0, 5).join(", ")}${content.length > 5 ? " …" : ""}`,
    );
    return;
  }
  await client.delete(NamespaceResource, { name }, { uid: namespace.metadata.uid, signal: progress.signal });
  await waitUntilGone(progress, client, NamespaceResource, { name });
  progress.status(`namespace ${name}: deleted`);
}

async function contentOf(client: KubeClient, namespace: string, signal: AbortSignal): Promise<string[]> {
  const lists = await Promise.all(
    CONTENT.map(async (type) => {
      const { items } = await client.list(type, { namespace, signal });
      return items.filter(isUsers).map(({ metadata }) => `${type.kind} ${metadata?.name ?? ""}`);
    }),
  );
  return lists.flat();
}

/** Not what Kubernetes puts into every namespace, nor what others follow from. */
function isUsers(object: KubeObject): boolean {
  const { name = "", ownerReferences = [] } = object.metadata ?? {};
  const isFinished = ["Succeeded", "Failed"].includes((object as Pod).status?.phase ?? "");
  return !isDeleting(object) && ownerReferences.length === 0 && name !== "kube-root-ca.crt" && !isFinished;
}
