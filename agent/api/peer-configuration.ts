import { Labels } from "./labels.js";
import type { Configuration } from "./networking-configuration.js";

/**
 * The Configuration of a remote cluster, whatever its name and namespace: a documented manifest names no namespace. Of several,
 * one in the given namespace comes first, then the oldest.
 */
export function peerConfiguration(
  configurations: readonly Configuration[],
  remoteClusterID: string,
  namespace: string,
): Configuration | undefined {
  const order = ({ metadata }: Configuration): string =>
    `${metadata.namespace === namespace ? 0 : 1} ${metadata.creationTimestamp} ${metadata.uid}`;
  return configurations
    .filter(
      ({ metadata }) => metadata.labels?.[Labels.remoteClusterID] === remoteClusterID && !metadata.deletionTimestamp,
    )
    .sort((a, b) => order(a).localeCompare(order(b)))[0];
}
