import type { OwnerReference } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  NETWORKING,
  PublicKeyResource,
  type Configuration,
  type GatewayClient,
  type GatewayServer,
  type PublicKey,
} from "../../../agent/api/index.js";
import type { LinkEnd } from "./ends.js";
import type { LinkOptions } from "./options.js";

/** A cluster's ranges as it knows them itself. */
export interface Ranges {
  pod: string[];
  external: string[];
}

/** Where a client finds its server. */
export interface Endpoint {
  addresses: string[];
  port: number;
  protocol: string;
}

type End = Pick<LinkEnd, "remoteId" | "namespace" | "agentNamespace">;

/** Tells one cluster the other's ranges; the rest is that cluster's own business (network specification, §3). */
export function configurationManifest(
  end: End,
  remote: Ranges,
  { name = end.remoteId, namespace = end.namespace }: { name?: string; namespace?: string } = {},
): Configuration {
  return ConfigurationResource.build({
    metadata: { name, namespace, labels: remoteLabels(end) },
    spec: { remote: { cidr: { pod: remote.pod, external: remote.external } } },
  });
}

export function gatewayServerManifest(end: End, { mtu, server }: LinkOptions, name = end.remoteId): GatewayServer {
  const { type: serviceType, port, nodePort, loadBalancerIP, serviceLabels, serviceAnnotations } = server;
  return GatewayServerResource.build({
    metadata: { name, namespace: end.namespace, labels: remoteLabels(end) },
    spec: {
      mtu,
      endpoint: { port, serviceType, ...defined({ nodePort, loadBalancerIP }) },
      ...defined({ serviceLabels, serviceAnnotations }),
      serverTemplateRef: {
        apiVersion: `${NETWORKING.group}/${NETWORKING.version}`,
        kind: "WgGatewayServerTemplate",
        name: server.templateName,
        namespace: server.templateNamespace ?? end.agentNamespace,
      },
    },
  });
}

export function gatewayClientManifest(
  end: End,
  { mtu, client }: LinkOptions,
  server: Endpoint,
  name = end.remoteId,
): GatewayClient {
  return GatewayClientResource.build({
    metadata: { name, namespace: end.namespace, labels: remoteLabels(end) },
    spec: {
      mtu,
      endpoint: clientEndpoint(client, server),
      clientTemplateRef: {
        apiVersion: `${NETWORKING.group}/${NETWORKING.version}`,
        kind: "WgGatewayClientTemplate",
        name: client.templateName,
        namespace: client.templateNamespace ?? end.agentNamespace,
      },
    },
  });
}

/** The server's endpoint, unless a NAT in between shows it elsewhere. */
export function clientEndpoint(
  { address, port }: LinkOptions["client"],
  server: Endpoint,
): { addresses: string[]; port: number; protocol: "TCP" | "UDP" } {
  return { addresses: address ? [address] : server.addresses, port: port ?? server.port, protocol: "UDP" };
}

/** The remote gateway's key, which goes when its owner, the own gateway, goes. */
export function publicKeyManifest(
  end: End,
  publicKey: string,
  owner: OwnerReference | undefined,
  name = end.remoteId,
): PublicKey {
  return PublicKeyResource.build({
    metadata: {
      name,
      namespace: end.namespace,
      labels: { ...remoteLabels(end), [Labels.gatewayResource]: "true" },
      ...(owner ? { ownerReferences: [owner] } : {}),
    },
    spec: { publicKey },
  });
}

export function remoteLabels({ remoteId }: Pick<LinkEnd, "remoteId">): Record<string, string> {
  return { [Labels.remoteClusterID]: remoteId };
}

/** Without the absent ones: server-side apply would take null as a value. */
function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
