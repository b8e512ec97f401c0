import type { Volume, VolumeProjection } from "kubernetes-types/core/v1";
import { ROOT_CA } from "../reflection/root-ca.js";
import { tokenKey, tokenSecretName, type ApiAccess } from "../service-accounts/api-access.js";

export interface VolumeOptions {
  podName: string;
  apiAccess: ApiAccess;
  /** What `kube-root-ca.crt` is called at the provider. */
  rootCaName: string;
}

/** Volumes as the remote pod gets them: tokens come from a Secret, the CA from the renamed ConfigMap. */
export function remoteVolumes(volumes: Volume[] | undefined, options: VolumeOptions): Volume[] | undefined {
  if (options.apiAccess === "remote") return volumes;
  return volumes?.map((volume) => {
    if (volume.configMap?.name === ROOT_CA) {
      return { ...volume, configMap: { ...volume.configMap, name: options.rootCaName } };
    }
    if (!volume.projected) return volume;
    const sources = (volume.projected.sources ?? []).flatMap((source) => remoteSource(volume.name, source, options));
    return { ...volume, projected: { ...volume.projected, sources } };
  });
}

function remoteSource(volumeName: string, source: VolumeProjection, options: VolumeOptions): VolumeProjection[] {
  const { serviceAccountToken: token, configMap } = source;
  if (configMap?.name === ROOT_CA) return [{ configMap: { ...configMap, name: options.rootCaName } }];
  if (!token) return [source];
  if (options.apiAccess === "disabled") return [];
  const items = [{ key: tokenKey(volumeName, token.path), path: token.path }];
  return [{ secret: { name: tokenSecretName(options.podName), items } }];
}
