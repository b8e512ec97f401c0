import {
  ConfigurationResource,
  IPResource,
  IPType,
  Labels,
  mapRemoteAddress,
  Ports,
  type Configuration,
  type IP,
} from "../../../agent/api/index.js";
import { waitFor, type Progress } from "../../waits/index.js";
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
      namespace: provider.agentNamespace,
      labelSelector: { [Labels.ipType]: IPType.apiServerProxy },
      what: "the address of the provider's API server proxy",
      judge: ([ip]) => {
        if (ip?.status?.ip) return { done: ip.status.ip };
        return {
          waiting: ip
            ? "no address is assigned yet"
            : "there is no IP resource of that type: is the agent's proxy installed?",
        };
      },
    }),
    waitFor<Configuration, Configuration>(progress, {
      client: consumer.client,
      type: ConfigurationResource,
      namespace: consumer.namespace,
      labelSelector: { [Labels.remoteClusterID]: provider.clusterId },
      what: "the network between the clusters, which inBand needs",
      judge: ([found]) => {
        if (!found)
          return {
            waiting: "there is no Configuration for the provider: create a NetworkLink that this resource depends on",
          };
        const mapping = judgeMapping(found, found.metadata.generation ?? 0);
        return "done" in mapping ? { done: found } : { waiting: "the provider's ranges are not mapped yet" };
      },
    }),
  ]);
  return `http://${mapRemoteAddress(configuration, address)}:${Ports.apiServerProxy}`;
}
