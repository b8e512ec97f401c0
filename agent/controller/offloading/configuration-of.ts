import { Labels, normalizeCidrs, remoteRangePairs, type Configuration } from "../../api/index.js";
import type { Informer } from "../../runtime/index.js";

/**
 * This cluster's Configuration of another one, undefined when there is no network between them. Throws while the ranges are not mapped
 * yet: no address of that cluster can be told then, and one that is not translated would be wrong.
 */
export function configurationOf(configurations: Informer<Configuration>, clusterID: string): Configuration | undefined {
  const found = configurations.list().find(({ metadata }) => metadata.labels?.[Labels.remoteClusterID] === clusterID);
  if (!found) return undefined;
  const { pod, external } = found.spec.remote?.cidr ?? {};
  const isPending = [...normalizeCidrs(pod), ...normalizeCidrs(external)].length > remoteRangePairs(found).length;
  if (isPending) throw new Error(`the address ranges of cluster ${clusterID} are not mapped yet`);
  return found;
}
