import type { Pod } from "kubernetes-types/core/v1";
import type { ObjectMeta } from "kubernetes-types/meta/v1";
import { Annotations, Labels, ShadowPodResource, type OffloadingPatch, type ShadowPod } from "../../api/index.js";
import type { VirtualNodeConfig } from "../arguments.js";
import { reflectedMetadata } from "../reflection/reflected-metadata.js";
import { remoteRootCaName } from "../reflection/root-ca.js";
import { apiAccessOf } from "../service-accounts/api-access.js";
import type { ApiServerEndpoint } from "./pod-environment.js";
import { podChanges, type PodChanges } from "./pod-changes.js";
import { LOCAL_NAMESPACE_ANNOTATION } from "./pod-volumes.js";
import { changeableSpec, remotePodSpec, type PodSpecOptions } from "./pod-spec.js";

/** Which local pod a ShadowPod stands for: one of the same name that came later must not inherit it. */
export const LOCAL_UID_ANNOTATION = "offloading.liqo.io/local-pod-uid";

export interface ShadowPodOptions {
  config: VirtualNodeConfig;
  remoteNamespace: string;
  patch: OffloadingPatch;
  apiServer?: ApiServerEndpoint;
  virtualClaims?: ReadonlySet<string>;
}

/** Labels and annotations of the ShadowPod, and by it of the remote pod. */
export function shadowPodMetadata(
  pod: Pod,
  config: VirtualNodeConfig,
  patch: OffloadingPatch,
): { labels: Record<string, string>; annotations: Record<string, string> } {
  const reflection = { origin: config.homeClusterId, destination: config.foreignClusterId };
  const { labels, annotations } = reflectedMetadata(pod.metadata, reflection, patch);
  delete labels[Labels.shadowPod];
  delete labels[Labels.remoteUnavailable];
  delete annotations[Annotations.deletionGracePeriod];
  const { uid = "", namespace = "" } = pod.metadata ?? {};
  return {
    labels: { ...labels, [Labels.offloadingNodeName]: config.nodeName },
    annotations: { ...annotations, [LOCAL_UID_ANNOTATION]: uid, [LOCAL_NAMESPACE_ANNOTATION]: namespace },
  };
}

/** The ShadowPod that makes the provider run the pod. */
export function forgeShadowPod(pod: Pod, options: ShadowPodOptions): ShadowPod {
  const { config, patch, remoteNamespace } = options;
  const metadata = shadowPodMetadata(pod, config, patch);
  const spec = remotePodSpec(pod, { ...specOptions(pod, options), labels: metadata.labels });
  return ShadowPodResource.build({
    metadata: { name: pod.metadata?.name, namespace: remoteNamespace, ...metadata },
    spec: { pod: spec },
  });
}

/** What must change in the ShadowPod's spec to follow the pod, which may have been changed since. */
export function shadowPodChanges(pod: Pod, shadow: ShadowPod, options: ShadowPodOptions): PodChanges {
  const present = shadow.spec.pod ?? { containers: [] };
  return podChanges(present, changeableSpec(pod, specOptions(pod, options)), "/spec/pod");
}

function specOptions(
  pod: Pod,
  { config, patch, apiServer, virtualClaims }: ShadowPodOptions,
): Omit<PodSpecOptions, "labels"> {
  const apiAccess = apiAccessOf(pod, config.apiServerSupport);
  return { patch, apiServer, apiAccess, virtualClaims, rootCaName: remoteRootCaName(config.homeClusterId) };
}

/** The merge patch that brings metadata to what is wanted; undefined when nothing differs. What the provider has added by itself (its creator label) stays. */
export function shadowPodPatch(
  present: ObjectMeta,
  desired: { labels: Record<string, string>; annotations: Record<string, string> },
): object | undefined {
  const labels = difference(present.labels, desired.labels);
  const annotations = difference(present.annotations, desired.annotations);
  return labels || annotations ? { metadata: { labels, annotations } } : undefined;
}

function difference(
  present: Record<string, string> = {},
  desired: Record<string, string>,
): Record<string, string | null> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(desired)) if (present[key] !== value) patch[key] = value;
  for (const key of Object.keys(present)) if (!(key in desired) && key !== Labels.creatorUser) patch[key] = null;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Whether the ShadowPod stands for another, earlier pod of the same name. */
export function isOfEarlierPod(shadow: ShadowPod, pod: Pod): boolean {
  const uid = shadow.metadata.annotations?.[LOCAL_UID_ANNOTATION];
  return uid !== undefined && uid !== pod.metadata?.uid;
}

/** Whether a remote pod belongs to this ShadowPod; one without any owner of that kind is taken as ours. */
export function isPodOf(pod: Pod, shadow: ShadowPod | undefined): boolean {
  const owner = pod.metadata?.ownerReferences?.find(({ kind }) => kind === ShadowPodResource.kind);
  return !owner || !shadow || owner.uid === shadow.metadata.uid;
}
