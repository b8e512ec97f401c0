import { ConfigurationResource, type Configuration } from "../../../agent/api/index.js";
import { ifVisible } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";
import { remoteLabels } from "./manifests.js";

type Place = Pick<LinkEnd, "client" | "namespace" | "remoteId">;

/**
 * The Configurations of a remote cluster: in any namespace, as its label decides and documented manifests name none (network specification, §5.2);
 * for those who may not look everywhere, in the tenant namespace. @throws KubeError also when that may not be looked at
 */
export async function listConfigurations(end: Place, signal: AbortSignal): Promise<Configuration[]> {
  const everywhere = await listEverywhere(end, signal);
  if (everywhere) return everywhere;
  const { client, namespace } = end;
  return (await client.list(ConfigurationResource, { namespace, labelSelector: remoteLabels(end), signal })).items;
}

/** Where `listConfigurations` looks, for a watch. */
export async function configurationScope(end: Place, signal: AbortSignal): Promise<{ namespace?: string }> {
  return (await listEverywhere(end, signal)) ? {} : { namespace: end.namespace };
}

async function listEverywhere(end: Place, signal: AbortSignal): Promise<Configuration[] | undefined> {
  const list = await ifVisible(end.client.list(ConfigurationResource, { labelSelector: remoteLabels(end), signal }));
  return list?.items;
}
