import type { Container, EphemeralContainer, Pod, PodSpec, Toleration } from "kubernetes-types/core/v1";
import { Annotations, Names, type OffloadingPatch } from "../../api/index.js";
import type { ApiAccess } from "../service-accounts/api-access.js";
import { remoteAffinity, withoutMergedKeys } from "./pod-affinity.js";
import { apiServerAliases, remoteContainer, withoutClaims, type ApiServerEndpoint } from "./pod-environment.js";
import { remoteVolumes } from "./pod-volumes.js";

export interface PodSpecOptions {
  patch: OffloadingPatch;
  apiAccess: ApiAccess;
  /** Absent: the pod has no way to the consumer's API server, and keeps the provider's variables. */
  apiServer?: ApiServerEndpoint;
  /** What `kube-root-ca.crt` is called at the provider. */
  rootCaName: string;
  /** Claims of the pod's own volumes that are reflected whatever their templates say (see `virtualClaimsOf`). */
  virtualClaims?: ReadonlySet<string>;
  /** The remote pod's, for anti-affinity. */
  labels: Record<string, string>;
}

/** Fields that mean the same in every cluster. All others are dropped or set below. */
const COPIED = [
  "activeDeadlineSeconds",
  "dnsConfig",
  "dnsPolicy",
  "enableServiceLinks",
  "hostAliases",
  "hostname",
  "imagePullSecrets",
  "restartPolicy",
  "securityContext",
  "setHostnameAsFQDN",
  "shareProcessNamespace",
  "subdomain",
  "terminationGracePeriodSeconds",
  "hostUsers",
  // Younger than the published types. A provider that is older still leaves them out, and says so on the ShadowPod.
  "hostnameOverride",
  "resources",
] as const;

/** The spec that runs at the provider (offloading specification, §6.3). */
export function remotePodSpec(pod: Pod, options: PodSpecOptions): PodSpec {
  const spec = pod.spec ?? { containers: [] };
  const { patch, apiAccess } = options;
  const apiServer = apiAccess === "token" ? options.apiServer : undefined;
  const container = containerMapping(pod, options);
  const present: Partial<Record<string, unknown>> = { ...spec };
  const copied: Partial<PodSpec> = Object.fromEntries(
    COPIED.flatMap((field) => (present[field] === undefined ? [] : [[field, present[field]]])),
  );
  return defined({
    ...copied,
    containers: spec.containers.map(container),
    initContainers: spec.initContainers?.map(container),
    volumes: remoteVolumes(spec.volumes, { ...options, podName: pod.metadata?.name ?? "" }),
    hostAliases: apiServer ? [...(spec.hostAliases ?? []), ...apiServerAliases(apiServer)] : spec.hostAliases,
    tolerations: remoteTolerations(pod, patch),
    nodeSelector: patch.nodeSelector,
    affinity: remoteAffinity(pod, options.labels, patch),
    topologySpreadConstraints: spec.topologySpreadConstraints?.map(withoutMergedKeys),
    runtimeClassName: runtimeClass(pod, patch),
    ...account(pod, apiAccess),
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
  });
}

/** What the remote pod is to have of what may change while a pod runs: images, resources, deadline, tolerations, ephemeral containers. */
export function changeableSpec(pod: Pod, options: Omit<PodSpecOptions, "labels">): PodSpec {
  const { containers = [], initContainers, activeDeadlineSeconds, ephemeralContainers } = pod.spec ?? {};
  const { resources } = withoutClaims((pod.spec ?? {}) as Container);
  return defined({
    ...(resources ? { resources } : {}),
    containers: containers.map(withoutClaims),
    initContainers: initContainers?.map(withoutClaims),
    activeDeadlineSeconds,
    tolerations: remoteTolerations(pod, options.patch),
    ephemeralContainers: ephemeralContainers?.map(containerMapping(pod, options)),
  });
}

/** How a container of the pod becomes one of the remote pod; ephemeral ones are alike in all that is changed. */
function containerMapping(
  { spec }: Pod,
  { apiAccess, apiServer, rootCaName }: Omit<PodSpecOptions, "labels">,
): <C extends Container | EphemeralContainer>(container: C) => C {
  if (apiAccess === "remote") return withoutClaims;
  const serviceAccountName = spec?.serviceAccountName ?? "default";
  const options = { serviceAccountName, rootCaName, apiServer: apiAccess === "token" ? apiServer : undefined };
  return (container) => remoteContainer(container, options);
}

function remoteTolerations({ spec }: Pod, patch: OffloadingPatch): Toleration[] {
  return [...withoutOwnKey(spec?.tolerations), ...(patch.tolerations ?? [])];
}

function account(pod: Pod, apiAccess: ApiAccess): Partial<PodSpec> {
  if (apiAccess !== "remote") return { automountServiceAccountToken: false };
  const wish = pod.metadata?.annotations?.[Annotations.remoteServiceAccountName];
  return { serviceAccountName: wish ?? pod.spec?.serviceAccountName, automountServiceAccountToken: true };
}

function runtimeClass(pod: Pod, patch: OffloadingPatch): string | undefined {
  const wish = pod.metadata?.annotations?.[Annotations.remoteRuntimeClassName];
  if (wish) return wish;
  const own = pod.spec?.runtimeClassName;
  return own && own !== Names.runtimeClass ? own : patch.runtimeClassName;
}

/** The toleration of the virtual node's taint has done its work. */
function withoutOwnKey(tolerations: Toleration[] = []): Toleration[] {
  return tolerations.filter(({ key }) => key !== Names.virtualNodeTaint);
}

function defined(spec: PodSpec): PodSpec {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as unknown as PodSpec;
}
