import {
  ConfigurationResource,
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  PublicKeyResource,
  type Configuration,
  type Connection,
  type GatewayClient,
  type GatewayServer,
  type PublicKey,
} from "../../../agent/api/index.js";
import type { KubeObject, ResourceType } from "../../../agent/runtime/index.js";
import { listConfigurations } from "./configuration-scope.js";
import type { LinkEnd } from "./ends.js";
import { remoteLabels } from "./manifests.js";

/** What one end of a link consists of, as far as it is there. Names are free: labels decide. */
export interface EndObjects {
  configuration?: Configuration;
  server?: GatewayServer;
  client?: GatewayClient;
  publicKey?: PublicKey;
  connection?: Connection;
}

/** Reads one end. @throws Error when something is there twice */
export async function findEndObjects(end: LinkEnd, signal: AbortSignal): Promise<EndObjects> {
  const one = async <T extends KubeObject>(type: ResourceType<T>): Promise<T | undefined> => {
    const { items } = await end.client.list(type, {
      namespace: end.namespace,
      labelSelector: remoteLabels(end),
      signal,
    });
    return theOne(end, type, items);
  };
  const [configuration, server, client, publicKey, connection] = await Promise.all([
    listConfigurations(end, signal).then((items) => theOne(end, ConfigurationResource, items)),
    one(GatewayServerResource),
    one(GatewayClientResource),
    one(PublicKeyResource),
    one(ConnectionResource),
  ]);
  return { configuration, server, client, publicKey, connection };
}

/** The same of an end whose tenant namespace was made this very moment: no more than a Configuration, which may be elsewhere, can be there. */
export async function findInNewNamespace(end: LinkEnd, signal: AbortSignal): Promise<EndObjects> {
  return { configuration: theOne(end, ConfigurationResource, await listConfigurations(end, signal)) };
}

function theOne<T extends KubeObject>(
  { client, remoteId }: LinkEnd,
  type: ResourceType<T>,
  items: readonly T[],
): T | undefined {
  if (items.length <= 1) return items[0];
  const names = items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).join(", ");
  throw new Error(
    `cluster ${client.cluster}: there are several ${type.plural} for cluster ${remoteId} (${names}): delete all but one`,
  );
}
