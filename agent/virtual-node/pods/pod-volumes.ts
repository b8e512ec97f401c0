import type { PersistentVolumeClaim, Pod, Volume, VolumeProjection } from "kubernetes-types/core/v1";
import { Names } from "../../api/index.js";
import { PersistentVolumeClaimResource, type KubeClient } from "../../runtime/index.js";
import { isVirtualClaim } from "../../storage/virtual-claim.js";
import { ROOT_CA } from "../reflection/root-ca.js";
import { tokenKey, tokenSecretName, type ApiAccess } from "../service-accounts/api-access.js";

/** On the remote pod: the namespace of the one that it runs for. */
export const LOCAL_NAMESPACE_ANNOTATION = "offloading.liqo.io/local-pod-namespace";

export interface VolumeOptions {
  podName: string;
  apiAccess: ApiAccess;
  /** What `kube-root-ca.crt` is called at the provider. */
  rootCaName: string;
  /** Claims of the pod's own volumes that are reflected whatever their templates say. */
  virtualClaims?: ReadonlySet<string>;
}

/**
 * Claims made for generic ephemeral volumes of the pod that are reflected though their templates do not name the class: it is the default, or
 * one of another name with our provisioner. The scheduler binds no pod before its claims are bound, so that they tell it by then.
 */
export async function virtualClaimsOf(pod: Pod, local: Pick<KubeClient, "get">): Promise<ReadonlySet<string>> {
  const { name: podName = "", namespace } = pod.metadata ?? {};
  const names = (pod.spec?.volumes ?? [])
    .filter((volume) => volume.ephemeral && !isOfVirtualClass(volume))
    .map((volume) => claimNameOf(podName, volume));
  const claims = await Promise.all(names.map((name) => local.get(PersistentVolumeClaimResource, { name, namespace })));
  return new Set(names.filter((_, index) => isVirtualClaimOf(pod, claims[index])));
}

/** One of the same name that was not made for the pod is none of its volumes. */
function isVirtualClaimOf({ metadata }: Pod, claim: PersistentVolumeClaim | undefined): boolean {
  const owner = claim?.metadata?.ownerReferences?.find(({ controller }) => controller);
  return claim !== undefined && owner?.uid === metadata?.uid && isVirtualClaim(claim);
}

function isOfVirtualClass({ ephemeral }: Volume): boolean {
  return ephemeral?.volumeClaimTemplate?.spec.storageClassName === Names.storageClass;
}

/** As Kubernetes names the claim of a generic ephemeral volume. */
function claimNameOf(podName: string, { name }: Volume): string {
  return `${podName}-${name}`;
}

/** Volumes as the remote pod gets them: tokens come from a Secret, the CA from the renamed ConfigMap, claims from the reflection. */
export function remoteVolumes(volumes: Volume[] | undefined, options: VolumeOptions): Volume[] | undefined {
  return volumes?.map((volume) => withRemoteAccess(withReflectedClaim(volume, options), options));
}

/** The claim of an ephemeral volume is reflected like any other: one that the provider makes from the template would want its name. */
function withReflectedClaim(volume: Volume, { podName, virtualClaims }: VolumeOptions): Volume {
  if (!volume.ephemeral) return volume;
  const claimName = claimNameOf(podName, volume);
  if (!isOfVirtualClass(volume) && !virtualClaims?.has(claimName)) return volume;
  return { name: volume.name, persistentVolumeClaim: { claimName } };
}

function withRemoteAccess(volume: Volume, options: VolumeOptions): Volume {
  if (options.apiAccess === "remote") return volume;
  if (volume.configMap?.name === ROOT_CA) {
    return { ...volume, configMap: { ...volume.configMap, name: options.rootCaName } };
  }
  if (!volume.projected) return volume;
  const all = volume.projected.sources ?? [];
  const hasToken = options.apiAccess === "token" && all.some(({ serviceAccountToken }) => serviceAccountToken);
  const sources = all.flatMap((source) =>
    remoteSource(volume.name, hasToken ? withLocalNamespace(source) : source, options),
  );
  return { ...volume, projected: { ...volume.projected, sources } };
}

/** Client libraries take the namespace beside a token for the one that the token is of: to the API server that knows it, the provider's means nothing. */
function withLocalNamespace(source: VolumeProjection): VolumeProjection {
  const items = source.downwardAPI?.items?.map((item) =>
    item.fieldRef?.fieldPath === "metadata.namespace"
      ? { ...item, fieldRef: { ...item.fieldRef, fieldPath: `metadata.annotations['${LOCAL_NAMESPACE_ANNOTATION}']` } }
      : item,
  );
  return items ? { ...source, downwardAPI: { ...source.downwardAPI, items } } : source;
}

function remoteSource(volumeName: string, source: VolumeProjection, options: VolumeOptions): VolumeProjection[] {
  const { serviceAccountToken: token, configMap } = source;
  if (configMap?.name === ROOT_CA) return [{ configMap: { ...configMap, name: options.rootCaName } }];
  if (!token) return [source];
  if (options.apiAccess === "disabled") return [];
  const items = [{ key: tokenKey(volumeName, token.path), path: token.path }];
  return [{ secret: { name: tokenSecretName(options.podName), items } }];
}
