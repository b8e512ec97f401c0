import type { Event, ObjectReference } from "kubernetes-types/core/v1";
import { ShadowEndpointSliceResource, ShadowPodResource } from "../../api/index.js";
import { EndpointSliceResource, PodResource, apiVersionOf, type KubeObject } from "../../runtime/index.js";
import { reflectionLabels, type Reflection } from "./reflected-metadata.js";

/** Kinds whose events come back from the provider (offloading specification, §8.7). */
export const EVENT_KINDS: ReadonlySet<string> = new Set([
  "ConfigMap",
  "Secret",
  "EndpointSlice",
  "Ingress",
  "Service",
  "PersistentVolumeClaim",
  "Pod",
  ShadowPodResource.kind,
  ShadowEndpointSliceResource.kind,
]);

/** The kinds of the consumer that the provider's own kinds stand for. */
const STANDS_FOR: ReadonlyMap<string, string> = new Map([
  [ShadowPodResource.kind, PodResource.kind],
  [ShadowEndpointSliceResource.kind, EndpointSliceResource.kind],
]);
const API_VERSIONS: ReadonlyMap<string, string> = new Map(
  [PodResource, EndpointSliceResource].map((type) => [type.kind, apiVersionOf(type)]),
);

/** Which kind of the consumer an event of the provider is about; a ShadowPod stands for its pod, a ShadowEndpointSlice for its EndpointSlice. */
export function localKindOf({ kind }: ObjectReference): string | undefined {
  if (kind === undefined || !EVENT_KINDS.has(kind)) return undefined;
  return STANDS_FOR.get(kind) ?? kind;
}

/** The consumer's copy of an event of the provider, about the consumer's object. */
export function localEvent(event: Event, kind: string, object: KubeObject, reflection: Reflection): Event {
  const { involvedObject, metadata, source } = event;
  const { name, namespace, uid } = object.metadata ?? {};
  const copied: Partial<Event> = Object.fromEntries(
    COPIED.flatMap((field) => (event[field] === undefined ? [] : [[field, event[field]]])),
  );
  return {
    ...copied,
    metadata: { name: metadata.name, namespace, labels: reflectionLabels(reflection) },
    involvedObject: {
      apiVersion: API_VERSIONS.get(kind) ?? involvedObject.apiVersion,
      kind,
      name,
      namespace,
      uid,
      ...(involvedObject.fieldPath === undefined ? {} : { fieldPath: involvedObject.fieldPath }),
    },
    source: { ...source, component: `${source?.component ?? event.reportingComponent ?? ""} (remote)` },
  };
}

/** What an event says: one whose copy says the same is told already, also if another object has the name of that one since. */
export function wordsOf(event: Event): string {
  const { involvedObject, source } = event;
  const copied = COPIED.map((field) => event[field] ?? null);
  return JSON.stringify([copied, involvedObject.fieldPath, source?.component, source?.host]);
}

const COPIED = [
  "reason",
  "message",
  "type",
  "count",
  "firstTimestamp",
  "lastTimestamp",
  "eventTime",
  "series",
  "action",
  "reportingComponent",
  "reportingInstance",
] as const satisfies readonly (keyof Event)[];
