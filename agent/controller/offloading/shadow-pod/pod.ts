import type { HostAlias, Pod } from "kubernetes-types/core/v1";
import {
  Labels,
  LabelValues,
  mapRemoteAddress,
  ShadowPodResource,
  type Configuration,
  type ShadowPod,
} from "../../../api/index.js";
import { ownerReference } from "../../../runtime/index.js";
import { CHANGES_ANNOTATION, changesDigest } from "./changes.js";

/** Which labels and annotations of a Pod came from its ShadowPod, so that one removed there is removed here, and no other. */
export const REFLECTED_KEYS = "offloading.liqo.io/reflected-keys";

const API_SERVER_NAME = "kubernetes.default";

interface ReflectedKeys {
  labels: string[];
  annotations: string[];
}

/**
 * What a consumer has no say in: its virtual nodes leave these out, but whoever holds its identity could ask for them. The Pod is made with this
 * cluster's rights, not the consumer's.
 */
const WITHHELD = {
  hostNetwork: undefined,
  hostPID: undefined,
  hostIPC: undefined,
  nodeName: undefined,
  // By its priority a pod would take the place of the provider's own.
  priorityClassName: undefined,
  priority: undefined,
  preemptionPolicy: undefined,
};

/** No Pod is created with any: they are added to it when it is there. */
const ADDED_LATER = { ephemeralContainers: undefined };

/**
 * The Pod that a ShadowPod asks for (offloading specification, §5.4). The address of the consumer's API server is given as the consumer
 * knows it, and is known here by the address that this cluster's Configuration maps it to.
 */
export function podOf(shadow: ShadowPod, configuration: Configuration | undefined): Pod {
  const { name, namespace } = shadow.metadata;
  const spec = shadow.spec.pod ?? { containers: [] };
  const hostAliases = spec.hostAliases?.map((alias) => mapAlias(alias, configuration));
  return {
    metadata: {
      name,
      namespace,
      ...podMetadata({ ...shadow, spec: { pod: { ...spec, ...ADDED_LATER } } }),
      ownerReferences: [ownerReference(ShadowPodResource, shadow)],
    },
    spec: { ...spec, ...WITHHELD, ...ADDED_LATER, ...(hostAliases ? { hostAliases } : {}) },
  };
}

/**
 * The merge patch that makes a Pod's labels and annotations follow its ShadowPod's; undefined when they do. `changes` is the digest of those that
 * the Pod has been given: of all, unless they wait.
 */
export function metadataPatch(shadow: ShadowPod, pod: Pod, changes = changesDigest(shadow)): object | undefined {
  const desired = podMetadata(shadow, changes);
  const before = reflectedKeys(pod);
  const labels = difference(desired.labels, pod.metadata?.labels, before.labels);
  const annotations = difference(desired.annotations, pod.metadata?.annotations, before.annotations);
  if (Object.keys(labels).length === 0 && Object.keys(annotations).length === 0) return undefined;
  return { metadata: { uid: pod.metadata?.uid, labels, annotations } };
}

function podMetadata(
  shadow: ShadowPod,
  changes = changesDigest(shadow),
): { labels: Record<string, string>; annotations: Record<string, string> } {
  const { metadata } = shadow;
  const labels = { ...metadata.labels, [Labels.managedBy]: LabelValues.shadowPodManager };
  const annotations = { ...metadata.annotations, [CHANGES_ANNOTATION]: changes };
  const keys: ReflectedKeys = { labels: Object.keys(labels).sort(), annotations: Object.keys(annotations).sort() };
  return { labels, annotations: { ...annotations, [REFLECTED_KEYS]: JSON.stringify(keys) } };
}

function reflectedKeys(pod: Pod): ReflectedKeys {
  try {
    const keys = JSON.parse(pod.metadata?.annotations?.[REFLECTED_KEYS] ?? "{}") as Partial<ReflectedKeys>;
    return { labels: keys.labels ?? [], annotations: keys.annotations ?? [] };
  } catch {
    return { labels: [], annotations: [] };
  }
}

function difference(
  desired: Record<string, string>,
  present: Record<string, string> = {},
  before: string[],
): Record<string, string | null> {
  const changed = Object.entries(desired).filter(([key, value]) => present[key] !== value);
  const removed = before.filter((key) => desired[key] === undefined && present[key] !== undefined);
  return { ...Object.fromEntries(changed), ...Object.fromEntries(removed.map((key) => [key, null])) };
}

function mapAlias(alias: HostAlias, configuration: Configuration | undefined): HostAlias {
  if (!configuration || !alias.ip || !alias.hostnames?.includes(API_SERVER_NAME)) return alias;
  return { ...alias, ip: mapRemoteAddress(configuration, alias.ip) };
}
