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
import { configurationScope } from "./configuration-scope.js";
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
  const one = <T extends KubeObject>(type: ResourceType<T>) => findOne(end, type, end, signal);
  const [configuration, server, client, publicKey, connection] = await Promise.all([
    configurationScope(end, signal).then((scope) => findOne(end, ConfigurationResource, scope, signal)),
    one(GatewayServerResource),
    one(GatewayClientResource),
    one(PublicKeyResource),
    one(ConnectionResource),
  ]);
  return { configuration, server, client, publicKey, connection };
}

async function findOne<T extends KubeObject>(
  end: LinkEnd,
  type: ResourceType<T>,
  { namespace }: { namespace?: string },
  signal: AbortSignal,
): Promise<T | undefined> {
  const { client, remoteId } = end;
  const { items } = await client.list(type, { namespace, labelSelector: remoteLabels(end), signal });
  if (items.length <= 1) return items[0];
  const names = items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).join(", ");
  throw new Error(
    `cluster ${client.cluster}: there are several ${type.plural} for cluster ${remoteId} (${names}): delete all but one`,
  );
}
