import type { Deployment, StatefulSet } from "kubernetes-types/apps/v1";
import type { Event as CoreEvent, Pod } from "kubernetes-types/core/v1";
import { ConfigurationResource, Labels, ShadowPodResource, mapRemoteAddress } from "../../agent/api/index.js";
import {
  ConfigMapResource,
  DeploymentResource,
  EndpointSliceResource,
  EventResource,
  IngressResource,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  PodResource,
  SecretResource,
  ServiceResource,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { isReady } from "../support/workload.js";
import { JobResource, StatefulSetResource } from "./changes.js";
import { claimsDiffer } from "./claims-agreement.js";
import { endpointsDiffer } from "./endpoints-agreement.js";

/** So many warnings are told, the last ones. */
const WARNINGS = 10;

/** A namespace of the consumer, and where a provider has it. */
export interface Shared {
  consumer: KubeClient;
  namespace: string;
  virtualNode: string;
  provider: KubeClient;
  remoteNamespace: string;
}

/** What the two clusters do not agree on, and what has not settled yet, a line each; empty when all is well. */
export async function disagreements(shared: Shared): Promise<string[]> {
  const lists = [podsDiffer, reflectedDiffer, slicesDiffer, volumesDiffer, unsettled].map((look) => look(shared));
  return (await Promise.all(lists)).flat();
}

async function podsDiffer(shared: Shared): Promise<string[]> {
  const [local, remote, shadows] = await Promise.all([
    listNamed(shared.consumer, PodResource, shared.namespace),
    listNamed(shared.provider, PodResource, shared.remoteNamespace),
    listNamed(shared.provider, ShadowPodResource, shared.remoteNamespace),
  ]);
  const offloaded = [...local].filter(([, { spec }]) => spec?.nodeName === shared.virtualNode);
  const expected = new Map(offloaded);
  const missing = offloaded
    .filter(([, pod]) => !hasEnded(pod))
    .flatMap(([name, pod]) => {
      if (!shadows.has(name)) return [`pod ${name} has no ShadowPod`];
      return podDiffers(name, pod, remote.get(name));
    });
  const strays = [...remote.keys()].filter((name) => !expected.has(name)).map((name) => `pod ${name} is only there`);
  const shadowStrays = [...shadows.keys()].filter((name) => !expected.has(name));
  return [...missing, ...strays, ...shadowStrays.map((name) => `ShadowPod ${name} has no pod`)];
}

function podDiffers(name: string, local: Pod, remote: Pod | undefined): string[] {
  if (!remote) return [`pod ${name} is not there`];
  const seen = (pod: Pod): string => {
    const containers = pod.status?.containerStatuses?.map(({ containerID, ready }) => [containerID, ready]);
    return JSON.stringify([pod.status?.phase, isReady(pod), containers, pod.metadata?.deletionTimestamp !== undefined]);
  };
  return seen(local) === seen(remote) ? [] : [`pod ${name} is ${seen(local)} here and ${seen(remote)} there`];
}

interface WithData extends KubeObject {
  data?: Record<string, string>;
  spec?: { ports?: { port: number }[]; rules?: object[] };
}

async function reflectedDiffer(shared: Shared): Promise<string[]> {
  const kinds = [ConfigMapResource, SecretResource, ServiceResource, IngressResource] as ResourceType<WithData>[];
  const lists = await Promise.all(
    kinds.map(async (type) => {
      const [local, remote] = await Promise.all([
        listNamed(shared.consumer, type, shared.namespace),
        listNamed(shared.provider, type, shared.remoteNamespace, Labels.offloadingOrigin),
      ]);
      return reflectionsDiffer(type.kind, wanted(local), wanted(remote));
    }),
  );
  return lists.flat();
}

/** Without what is skipped, the CA, which has another name there, and tokens, which have no original. */
function wanted(objects: Map<string, WithData>): Map<string, WithData> {
  return new Map(
    [...objects].filter(
      ([name, { metadata }]) =>
        !name.startsWith("kube-root-ca.crt") &&
        metadata?.annotations?.["liqo.io/skip-reflection"] !== "true" &&
        metadata?.labels?.[Labels.offloadingNodeName] === undefined,
    ),
  );
}

function reflectionsDiffer(kind: string, local: Map<string, WithData>, remote: Map<string, WithData>): string[] {
  const content = (object: WithData | undefined): string =>
    object ? JSON.stringify([object.data, object.spec?.ports?.map(({ port }) => port), object.spec?.rules]) : "nothing";
  const names = new Set([...local.keys(), ...remote.keys()]);
  return [...names].flatMap((name) => {
    const [here, there] = [content(local.get(name)), content(remote.get(name))];
    return here === there ? [] : [`${kind} ${name} is ${here} here and ${there} there`];
  });
}

async function slicesDiffer({ consumer, namespace, provider, remoteNamespace }: Shared): Promise<string[]> {
  const [local, remote, configurations] = await Promise.all([
    consumer.list(EndpointSliceResource, { namespace }),
    provider.list(EndpointSliceResource, { namespace: remoteNamespace }),
    provider.list(ConfigurationResource, { labelSelector: `${Labels.remoteClusterID}=${consumer.cluster}` }),
  ]);
  const [configuration] = configurations.items;
  if (!configuration) return [`the provider has no Configuration for ${consumer.cluster}`];
  return endpointsDiffer(local.items, remote.items, (address) => mapRemoteAddress(configuration, address));
}

async function volumesDiffer({ consumer, namespace, provider, remoteNamespace }: Shared): Promise<string[]> {
  const [local, volumes, remote] = await Promise.all([
    consumer.list(PersistentVolumeClaimResource, { namespace }),
    consumer.list(PersistentVolumeResource),
    provider.list(PersistentVolumeClaimResource, { namespace: remoteNamespace }),
  ]);
  return claimsDiffer({ namespace, local: local.items, volumes: volumes.items, remote: remote.items });
}

/** No pod has been lost: whoever wants some has them. */
async function unsettled({ consumer, namespace }: Shared): Promise<string[]> {
  const [deployments, sets, jobs] = await Promise.all([
    consumer.list(DeploymentResource, { namespace }),
    consumer.list(StatefulSetResource, { namespace }),
    consumer.list(JobResource, { namespace }),
  ]);
  const waiting = [...deployments.items, ...sets.items].filter((one) => !hasItsPods(one));
  const unfinished = jobs.items.filter(({ status }) => !status?.succeeded);
  return [...waiting.map(describeProgress), ...unfinished.map(({ metadata }) => `job ${metadata?.name} has not ended`)];
}

function describeProgress({ metadata, spec, status }: Deployment | StatefulSet): string {
  const pods = `${status?.readyReplicas ?? 0} ready pods of ${status?.replicas ?? 0}, wants ${spec?.replicas ?? 1}`;
  const isSeen = status?.observedGeneration === metadata?.generation;
  return `${metadata?.name} has ${pods}${isSeen ? "" : ", and its controller has not seen the last change"}`;
}

/** What may tell why clusters do not agree or settle: of both, the state of pods that are not ready, and the last warnings, a line each. */
export async function circumstances({ consumer, namespace, provider, remoteNamespace }: Shared): Promise<string[]> {
  const sides = [stateOf(consumer, namespace), stateOf(provider, remoteNamespace)];
  return (await Promise.all(sides)).flat();
}

async function stateOf(client: KubeClient, namespace: string): Promise<string[]> {
  const [pods, events] = await Promise.all([
    client.list(PodResource, { namespace }),
    client.list(EventResource, { namespace, fieldSelector: "type=Warning" }),
  ]);
  const unready = pods.items.filter((pod) => !isReady(pod) && !hasEnded(pod));
  const time = (event: CoreEvent): string => event.lastTimestamp ?? event.metadata.creationTimestamp ?? "";
  const last = events.items.sort((one, other) => time(one).localeCompare(time(other))).slice(-WARNINGS);
  const lines = [
    ...unready.map(describeUnready),
    ...last.map((event) => `${time(event)} ${event.involvedObject.name}: ${event.reason}: ${event.message}`),
  ];
  return lines.map((line) => `cluster ${client.cluster}: ${line}`);
}

function describeUnready({ metadata, spec, status }: Pod): string {
  const deletion = metadata?.deletionTimestamp ? `, deleted at ${metadata.deletionTimestamp}` : "";
  const waiting = (status?.containerStatuses ?? []).map(({ state }) => state?.waiting?.reason ?? "").join(" ");
  const why = [status?.phase, status?.reason, waiting].filter(Boolean).join(" ");
  return `pod ${metadata?.name} on ${spec?.nodeName ?? "no node"}: ${why}${deletion}`;
}

function hasItsPods({ metadata, spec, status }: Deployment | StatefulSet): boolean {
  const replicas = spec?.replicas ?? 1;
  const isSeen = status?.observedGeneration === metadata?.generation;
  return isSeen && (status?.readyReplicas ?? 0) === replicas && (status?.replicas ?? 0) === replicas;
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

async function listNamed<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  namespace: string,
  labelSelector?: string,
): Promise<Map<string, T>> {
  const { items } = await client.list(type, { namespace, labelSelector });
  return new Map(items.map((item) => [item.metadata?.name ?? "", item]));
}
