import {
  ConfigurationResource,
  IPResource,
  IPType,
  Labels,
  mapRemoteAddress,
  peerConfiguration,
  Ports,
  type Configuration,
  type IP,
} from "../../../agent/api/index.js";
import { ifVisible, waitFor, type Progress } from "../../waits/index.js";
import { configurationScope } from "../network-link/configuration-scope.js";
import { judgeMapping } from "../network-link/configure.js";
import type { Parties } from "./party.js";

/**
 * The URL by which the consumer reaches the provider's API server through the tunnel: the proxy's address in the provider's external range, as
 * the consumer calls it (control plane specification, §17).
 */
export async function inBandProxyUrl(progress: Progress, { consumer, provider }: Parties): Promise<string> {
  const [address, configuration] = await Promise.all([
    waitFor<IP, string>(progress, {
      client: provider.client,
      type: IPResource,
      ...proxyAddressOf(provider),
      what: "the address of the provider's API server proxy",
      judge: ([ip]) => {
        if (ip?.status?.ip) return { done: ip.status.ip };
        return {
          waiting: ip
            ? "no address is assigned yet"
            : "there is no IP resource of that type: has the provider's agent networkingEnabled and apiServerProxy?",
        };
      },
    }),
    waitFor<Configuration, Configuration>(progress, {
      client: consumer.client,
      type: ConfigurationResource,
      ...(await networkOf({ consumer, provider }, progress.signal)),
      what: "the network between the clusters, which inBand needs",
      judge: (all) => {
        const found = peerConfiguration(all, provider.clusterId, consumer.namespace);
        if (!found)
          return {
            waiting: "there is no Configuration for the provider: create a NetworkLink that this resource depends on",
          };
        const mapping = judgeMapping(found, found.metadata.generation ?? 0);
        return "done" in mapping ? { done: found } : { waiting: "the provider's ranges are not mapped yet" };
      },
    }),
  ]);
  return urlOf(configuration, address);
}

/** The same URL as the clusters have it now; undefined while a part of it is missing. */
export async function presentProxyUrl(
  { consumer, provider }: Parties,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [ips, configurations] = await Promise.all([
    ifVisible(provider.client.list(IPResource, { ...proxyAddressOf(provider), signal })),
    networkOf({ consumer, provider }, signal).then((selection) =>
      ifVisible(consumer.client.list(ConfigurationResource, { ...selection, signal })),
    ),
  ]);
  const address = ips?.items[0]?.status?.ip;
  const configuration = peerConfiguration(configurations?.items ?? [], provider.clusterId, consumer.namespace);
  if (!address || !configuration) return undefined;
  const mapping = judgeMapping(configuration, configuration.metadata.generation ?? 0);
  return "done" in mapping ? urlOf(configuration, address) : undefined;
}

interface Selection {
  namespace?: string;
  labelSelector: Record<string, string>;
}

/** The IP resource of the provider's proxy. */
function proxyAddressOf({ agentNamespace }: Parties["provider"]): Selection {
  return { namespace: agentNamespace, labelSelector: { [Labels.ipType]: IPType.apiServerProxy } };
}

/** The consumer's Configuration of the provider. */
async function networkOf({ consumer, provider }: Parties, signal: AbortSignal): Promise<Selection> {
  const scope = await configurationScope({ ...consumer, remoteId: provider.clusterId }, signal);
  return { ...scope, labelSelector: { [Labels.remoteClusterID]: provider.clusterId } };
}

function urlOf(configuration: Configuration, address: string): string {
  return `http://${mapRemoteAddress(configuration, address)}:${Ports.apiServerProxy}`;
}
