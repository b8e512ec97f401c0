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
import type { KubeClient, KubeObject, ResourceType } from "../../../agent/runtime/index.js";
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
  const one = <T extends KubeObject>(type: ResourceType<T>) => findOne(end.client, type, end, signal);
  const [configuration, server, client, publicKey, connection] = await Promise.all([
    one(ConfigurationResource),
    one(GatewayServerResource),
    one(GatewayClientResource),
    one(PublicKeyResource),
    one(ConnectionResource),
  ]);
  return { configuration, server, client, publicKey, connection };
}

async function findOne<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  end: Pick<LinkEnd, "namespace" | "remoteId">,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { items } = await client.list(type, { namespace: end.namespace, labelSelector: remoteLabels(end), signal });
  if (items.length <= 1) return items[0];
  const names = items.map(({ metadata }) => metadata?.name).join(", ");
  throw new Error(
    `cluster ${client.cluster}, namespace ${end.namespace}: there are several ${type.plural} for cluster ${end.remoteId} (${names}): delete all but one`,
  );
}
