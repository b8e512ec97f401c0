import type { OwnerReference } from "kubernetes-types/meta/v1";
import {
  ConfigurationResource,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  PublicKeyResource,
  type Configuration,
  type GatewayClient,
  type GatewayServer,
  type PublicKey,
} from "../../../agent/api/index.js";
import type { LinkEnd } from "./ends.js";
import type { LinkOptions } from "./options.js";
import { TEMPLATE_API_VERSION, TEMPLATE_KINDS } from "./schema.js";

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
  const { type: serviceType, port, nodePort, loadBalancerIP, loadBalancerClass } = server;
  const { serviceLabels, serviceAnnotations, secretRef } = server;
  return GatewayServerResource.build({
    metadata: { name, namespace: end.namespace, labels: remoteLabels(end) },
    spec: {
      mtu,
      endpoint: { port, serviceType, ...defined({ nodePort, loadBalancerIP, loadBalancerClass }) },
      ...defined({ serviceLabels, serviceAnnotations, secretRef }),
      serverTemplateRef: templateReference(end, "server", server),
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
      ...defined({ secretRef: client.secretRef }),
      clientTemplateRef: templateReference(end, "client", client),
    },
  });
}

/** What makes a gateway, as the gateway names it. */
export function templateReference(
  { agentNamespace }: Pick<LinkEnd, "agentNamespace">,
  end: "server" | "client",
  options: LinkOptions["server" | "client"],
): { apiVersion: string; kind: string; name: string; namespace: string } {
  return {
    apiVersion: options.templateApiVersion ?? TEMPLATE_API_VERSION,
    kind: options.templateKind ?? TEMPLATE_KINDS[end],
    name: options.templateName,
    namespace: options.templateNamespace ?? agentNamespace,
  };
}

/** The server's endpoint, unless a NAT in between shows it elsewhere. */
export function clientEndpoint(
  client: LinkOptions["client"],
  server: Endpoint,
): { addresses: string[]; port: number; protocol: "TCP" | "UDP" } {
  return {
    addresses: givenAddresses(client) ?? server.addresses,
    port: client.port ?? server.port,
    protocol: "UDP",
  };
}

/** Where the program says that the client finds the server; undefined where it leaves that to the server. */
export function givenAddresses({ address, addresses }: LinkOptions["client"]): string[] | undefined {
  return addresses ?? (address ? [address] : undefined);
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
