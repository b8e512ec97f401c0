import { isDeepStrictEqual } from "node:util";
import { Labels, NetworkResource, NetworkType } from "../../../agent/api/index.js";
import type { KubeObject } from "../../../agent/runtime/index.js";
import { deviationsOf } from "../../kube/deviations.js";
import { addObjectMetadata } from "../../kube/object-metadata.js";
import type { Pair, Peer } from "../../preconditions/index.js";
import { findTenantNamespaces, namesOf, namespaceDeviations } from "../tenant-namespace/index.js";
import { rangesOf } from "./configure.js";
import { isOwnMisplaced, orient, type OrientedEnd } from "./connect.js";
import { linkEnds, type LinkEnd } from "./ends.js";
import { findEndObjects, type EndObjects } from "./find.js";
import { ownKey } from "./connection.js";
import { judgeEndpoint } from "./gateways.js";
import {
  clientEndpoint,
  gatewayClientManifest,
  gatewayServerManifest,
  remoteLabels,
  type Ranges,
} from "./manifests.js";
import { linkOptions } from "./options.js";
import { judgeRanges } from "./ranges.js";
import {
  DEFAULT_MTU,
  TEMPLATE_API_VERSION,
  TEMPLATE_KINDS,
  gatewayClient as gatewayClientShape,
  gatewayServer as gatewayServerShape,
  type NetworkLinkInputs,
  type NetworkLinkOutputs,
} from "./schema.js";
import { isUsedByReverse } from "./users.js";

/** A link as it is in the clusters. */
export interface FoundLink {
  inputs: NetworkLinkInputs;
  outputs: NetworkLinkOutputs;
}

interface FoundEnds {
  consumer: EndObjects;
  provider: EndObjects;
}

const NOTHING: EndObjects = {};

/** What is there of a link; undefined when there is nothing of it. */
export async function inspectLink(
  pair: Pair,
  inputs: NetworkLinkInputs,
  isImport: boolean,
  signal: AbortSignal,
): Promise<FoundLink | undefined> {
  const tenantNamespaces = await findTenantNamespaces(pair, signal);
  const namespaces = namesOf(tenantNamespaces);
  const ends = linkEnds(pair, namespaces);
  const [consumer, provider, consumerRanges, providerRanges] = await Promise.all([
    namespaces.consumer ? findEndObjects(ends.consumer, signal) : NOTHING,
    namespaces.provider ? findEndObjects(ends.provider, signal) : NOTHING,
    currentRanges(pair.consumer, signal),
    currentRanges(pair.provider, signal),
  ]);
  const found = { consumer, provider };
  if (Object.keys(defined(consumer)).length + Object.keys(defined(provider)).length === 0) return undefined;
  const { server, client } = orient(ends, found, inputs.gatewayServerLocation);
  const isReused =
    server.end.side !== (inputs.gatewayServerLocation === "Consumer" ? "consumer" : "provider") && !isImport;
  const observed = isReused ? inputs : observedInputs(inputs, server.present, client.present);
  if (isImport) Object.assign(observed, importedGateways(server, client));
  if (isImport) observed.gatewayServerLocation = server.end.side === "consumer" ? "Consumer" : "Provider";
  const endpoint = judgeEndpoint(server.present.server);
  const drift = [
    ...missingOf("consumer", consumer, consumerRanges && providerRanges),
    ...missingOf("provider", provider, providerRanges && consumerRanges),
    ...(server.present.server ? [] : [`${server.end.side}: the gateway server is missing`]),
    ...(client.present.client ? [] : [`${client.end.side}: the gateway client is missing`]),
    ...(await staleKeys({ here: ends.consumer, held: consumer, there: ends.provider, owner: provider }, signal)),
    ...(await staleKeys({ here: ends.provider, held: provider, there: ends.consumer, owner: consumer }, signal)),
    ...(isReused ? [] : movedEndpoint(server.present, client.present, observed, client.end.side)),
    ...(isImport || isReused ? [] : changedObjects({ server, client }, observed)),
    ...(!isImport && isOwnMisplaced(ends, found, inputs.gatewayServerLocation)
      ? [`${server.end.side}: the gateway server is here, not at the side that gatewayServerLocation names`]
      : []),
    ...(isImport ? [] : namespaceDeviations(tenantNamespaces, inputs)),
  ];
  return {
    inputs: observed,
    outputs: {
      consumerClusterId: pair.consumer.clusterId,
      providerClusterId: pair.provider.clusterId,
      tenantNamespaces: namespaces,
      remappedCIDRs: {
        consumer: rangesOf(consumer.configuration?.status?.remote?.cidr),
        provider: rangesOf(provider.configuration?.status?.remote?.cidr),
      },
      endpoint: "done" in endpoint ? endpoint.done : { addresses: [], port: 0, protocol: "UDP" },
      connections: connectionsOf(found),
      drift: inputs.disableSharingKeys ? drift.filter((line) => !line.includes("public key")) : drift,
    },
  };
}

/** What is not as the inputs ask, of what no input shows by itself: templates, labels, annotations. */
function changedObjects(
  { server, client }: { server: OrientedEnd; client: OrientedEnd },
  inputs: NetworkLinkInputs,
): string[] {
  const options = linkOptions(inputs);
  const { spec } = gatewayClientManifest(client.end, options, { addresses: [], port: 0, protocol: "UDP" });
  const manifests: [OrientedEnd, KubeObject | undefined, object][] = [
    [server, server.present.server, gatewayServerManifest(server.end, options)],
    [client, client.present.client, { spec: { ...spec, endpoint: undefined } }],
    ...[server, client].flatMap((side): [OrientedEnd, KubeObject | undefined, object][] => {
      const { configuration, publicKey } = side.present;
      // Both directions write these.
      if (isUsedByReverse(side.end, configuration?.metadata.annotations)) return [];
      return [configuration, publicKey].map((object) => [
        side,
        object,
        { metadata: { labels: remoteLabels(side.end) } },
      ]);
    }),
  ];
  return manifests.flatMap(([{ end }, live, manifest]) =>
    deviationsOf(live, addObjectMetadata(manifest, inputs), end.side),
  );
}

async function currentRanges({ client, agentNamespace }: Peer, signal: AbortSignal): Promise<Ranges | undefined> {
  const labelSelector = `${Labels.networkType} in (${NetworkType.pod},${NetworkType.external})`;
  const { items } = await client.list(NetworkResource, { namespace: agentNamespace, labelSelector, signal });
  const verdict = judgeRanges(items);
  return "done" in verdict ? verdict.done : undefined;
}

function connectionsOf({ consumer, provider }: FoundEnds): { consumer: string; provider: string } {
  const valueOf = ({ connection }: EndObjects): string => connection?.status?.value ?? "";
  return { consumer: valueOf(consumer), provider: valueOf(provider) };
}

/** What an end lacks, whatever its role. `remoteRanges` is what its Configuration should name. */
function missingOf(side: string, end: EndObjects, remoteRanges: Ranges | undefined): string[] {
  const missing = [
    !end.configuration && `${side}: the network configuration is missing`,
    !end.publicKey && (end.server || end.client) && `${side}: the other gateway's public key is missing`,
  ];
  const named = rangesOf(end.configuration?.spec.remote?.cidr);
  if (end.configuration && remoteRanges && !isDeepStrictEqual(sorted(named), sorted(remoteRanges))) {
    missing.push(`${side}: the network configuration names ranges that the other cluster does not have`);
  }
  return missing.filter((line) => typeof line === "string" && line !== "") as string[];
}

/** An end whose PublicKey is not the one that the other end's gateway has now. */
async function staleKeys(
  { here, held, there, owner }: { here: LinkEnd; held: EndObjects; there: LinkEnd; owner: EndObjects },
  signal: AbortSignal,
): Promise<string[]> {
  const gateway = owner.server ?? owner.client;
  if (!gateway || !held.publicKey) return [];
  const key = await ownKey(there, gateway, signal);
  if (key === undefined || key === held.publicKey.spec.publicKey) return [];
  return [`${here.side}: the public key is not that of the other gateway`];
}

/** A client that looks for its server in the wrong place. Which of the addresses comes first changes as the server's pod moves. */
function movedEndpoint(server: EndObjects, client: EndObjects, inputs: NetworkLinkInputs, side: string): string[] {
  const verdict = judgeEndpoint(server.server);
  if (!client.client || !("done" in verdict)) return [];
  const { addresses, port } = clientEndpoint(linkOptions(inputs).client, verdict.done);
  const known = client.client.spec.endpoint;
  const isSame = isDeepStrictEqual([...(known?.addresses ?? [])].sort(), [...addresses].sort());
  if (isSame && known?.port === port) return [];
  return [`${side}: the gateway client does not point to the server's endpoint`];
}

/** The inputs that would make what is there. What the program left to defaults stays absent while it has its default. */
function observedInputs(inputs: NetworkLinkInputs, server: EndObjects, client: EndObjects): NetworkLinkInputs {
  const options = linkOptions(inputs);
  const spec = server.server?.spec;
  const observed = structuredClone(inputs);
  if (spec) {
    const {
      port = options.server.port,
      serviceType,
      nodePort,
      loadBalancerIP,
      loadBalancerClass,
    } = spec.endpoint ?? {};
    const live = {
      type: serviceType === "ExternalName" || !serviceType ? ("ClusterIP" as const) : serviceType,
      port,
      nodePort,
      loadBalancerIP,
      loadBalancerClass,
    };
    const isAsAsked = Object.entries(live).every(([key, value]) => options.server[key as keyof typeof live] === value);
    if (!isAsAsked)
      observed.gatewayServer = defined({ ...options.server, ...live }) as NetworkLinkInputs["gatewayServer"];
    observed.mtu = spec.mtu ?? inputs.mtu;
  }
  if (client.client?.spec.mtu !== undefined && client.client.spec.mtu !== inputs.mtu)
    observed.mtu = client.client.spec.mtu;
  return observed;
}

/** What an import adds: whatever the program has to say so that the gateways stay as they are. */
function importedGateways(server: OrientedEnd, client: OrientedEnd): Partial<NetworkLinkInputs> {
  const { server: defaults, client: clientDefaults } = linkOptions({
    gatewayServerLocation: "Provider",
    mtu: DEFAULT_MTU,
  });
  const found = server.present.server;
  const { endpoint, serverTemplateRef, serviceLabels, serviceAnnotations } = found?.spec ?? {};
  const verdict = judgeEndpoint(found);
  const actual = "done" in verdict ? verdict.done : undefined;
  const { endpoint: known, clientTemplateRef } = client.present.client?.spec ?? {};
  const gatewayServer = {
    type: endpoint?.serviceType,
    port: endpoint?.port,
    nodePort: endpoint?.nodePort,
    loadBalancerIP: endpoint?.loadBalancerIP,
    loadBalancerClass: endpoint?.loadBalancerClass,
    serviceLabels,
    serviceAnnotations,
    secretRef: importedSecret(found),
    ...importedTemplate(serverTemplateRef, "server", defaults.templateName, server.end),
  };
  const gatewayClient = {
    ...importedAddresses(known?.addresses, actual?.addresses),
    ...(known?.port && actual && actual.port !== known.port ? { port: known.port } : {}),
    ...defined({ secretRef: importedSecret(client.present.client) }),
    ...importedTemplate(clientTemplateRef, "client", clientDefaults.templateName, client.end),
  };
  return {
    ...(found ? { gatewayServer: gatewayServerShape.parse(defined(gatewayServer)) } : {}),
    ...(Object.keys(gatewayClient).length > 0 ? { gatewayClient: gatewayClientShape.parse(gatewayClient) } : {}),
  };
}

/** Where the client looks for the server, where the server itself does not tell the like. */
function importedAddresses(
  known: readonly string[] = [],
  actual: readonly string[] | undefined,
): { address?: string; addresses?: string[] } {
  const addresses = known.filter((address) => address !== "");
  if (!actual || addresses.every((address) => actual.includes(address))) return {};
  return addresses.length === 1 ? { address: addresses[0] } : { addresses };
}

/** The keys that a gateway's spec names. */
function importedSecret(
  gateway: { spec: { secretRef?: { name?: string } } } | undefined,
): { name: string } | undefined {
  const name = gateway?.spec.secretRef?.name;
  return name ? { name } : undefined;
}

/** A template, where it is not the usual one. */
function importedTemplate(
  reference: { apiVersion?: string; kind?: string; name?: string; namespace?: string } = {},
  end: "server" | "client",
  usual: string,
  { agentNamespace }: LinkEnd,
): Partial<NonNullable<NetworkLinkInputs["gatewayClient"]>> {
  const unless = (value: string | undefined, usually: string) => (value && value !== usually ? value : undefined);
  return defined({
    templateName: unless(reference.name, usual),
    templateNamespace: unless(reference.namespace, agentNamespace),
    templateKind: unless(reference.kind, TEMPLATE_KINDS[end]),
    templateApiVersion: unless(reference.apiVersion, TEMPLATE_API_VERSION),
  });
}

function sorted({ pod, external }: Ranges): Ranges {
  return { pod: [...pod].sort(), external: [...external].sort() };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
