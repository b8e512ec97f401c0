import { GatewayClientResource, GatewayServerResource, type Configuration } from "../../../agent/api/index.js";
import type { Pair, Side } from "../../preconditions/index.js";
import { concurrently, type Progress, type Scope } from "../../waits/index.js";
import { ensureTenantNamespace, MANAGER, type EnsuredNamespace } from "../tenant-namespace/index.js";
import { claimGateways, gatewayOfReverse } from "./claim.js";
import { applyConfiguration, waitUntilMapped } from "./configure.js";
import { linkEnds, type LinkEnd, type LinkEnds } from "./ends.js";
import { waitUntilConnected, type TunnelEnd } from "./connection.js";
import { removeGateways } from "./disconnect.js";
import { findEndObjects, findInNewNamespace, type EndObjects } from "./find.js";
import {
  applyClient,
  applyPublicKey,
  applyServer,
  checkTemplate,
  rotateKeys,
  waitForEndpoint,
  waitForPublicKey,
  waitUntilRunning,
  type Gateway,
} from "./gateways.js";
import type { Endpoint, Ranges } from "./manifests.js";
import type { KeyOptions, LinkOptions } from "./options.js";
import { readRanges } from "./ranges.js";
import { isOfReverse } from "./users.js";

/** What a link has come to. */
export interface Link {
  namespaces: { consumer: string; provider: string };
  remapped: { consumer: Ranges; provider: Ranges };
  endpoint: Endpoint;
  connections: { consumer: string; provider: string };
}

/** Tells of the link as it grows, so that a link that is broken off midway is known by what it has. */
export type Milestone = (link: Partial<Link>) => void;

/**
 * Makes the network between two clusters, in the order of Liqo's `peer` as far as lines go; what does not depend on each other happens side by side
 * (network specification, §13). Whatever is there already is kept or brought up to date.
 */
export function connect(
  progress: Progress,
  pair: Pair,
  options: LinkOptions & KeyOptions,
  milestone: Milestone,
): Promise<Link> {
  return concurrently(progress, async (scope) => {
    const ranges = {
      consumer: scope.start((inner) => readRanges(inner, pair.consumer)),
      provider: scope.start((inner) => readRanges(inner, pair.provider)),
    };
    const ensured = await ensureNamespaces(scope, pair);
    const namespaces = { consumer: ensured.consumer.name, provider: ensured.provider.name };
    milestone({ namespaces });
    const ends = linkEnds(pair, namespaces);
    const find = (side: Side): Promise<EndObjects> =>
      (ensured[side].existed ? findEndObjects : findInNewNamespace)(ends[side], scope.signal);
    const [consumer, provider] = await Promise.all([find("consumer"), find("provider")]);
    const mapped = configure(scope, ends, { consumer, provider }, ranges);
    const roles = await agreeOnRoles(scope, ends, { consumer, provider }, mapped.applied, options.location);
    const gateways = establish(scope, roles, options);
    const remapped = await mapped.report();
    milestone({ remapped });
    const { endpoint, connections } = await gateways.report();
    return { namespaces, remapped, endpoint, connections };
  });
}

async function ensureNamespaces(scope: Scope, { consumer, provider }: Pair): Promise<Both<EnsuredNamespace>> {
  const [local, remote] = await Promise.all([
    ensureTenantNamespace(scope, consumer, provider.clusterId, "NetworkLink"),
    ensureTenantNamespace(scope, provider, consumer.clusterId, "NetworkLink"),
  ]);
  return { consumer: local, provider: remote };
}

type Both<T> = { consumer: T; provider: T };

/** Exchanges the ranges; the lines come when asked for. */
function configure(
  scope: Scope,
  ends: LinkEnds,
  present: Both<EndObjects>,
  ranges: Both<Promise<Ranges>>,
): { applied: Both<Promise<Configuration>>; report(): Promise<Both<Ranges>> } {
  const applied = {
    consumer: scope.start(async (inner) =>
      applyConfiguration(inner, ends.consumer, await ranges.provider, present.consumer.configuration),
    ),
    provider: scope.start(async (inner) =>
      applyConfiguration(inner, ends.provider, await ranges.consumer, present.provider.configuration),
    ),
  };
  const mapped = {
    consumer: scope.start(async (inner) => waitUntilMapped(inner, ends.consumer, await applied.consumer)),
    provider: scope.start(async (inner) => waitUntilMapped(inner, ends.provider, await applied.provider)),
  };
  return {
    applied,
    async report() {
      const own = { consumer: await ranges.consumer, provider: await ranges.provider };
      scope.status(`consumer: own ranges read: ${describeRanges(own.consumer)}`);
      scope.status(`provider: own ranges read: ${describeRanges(own.provider)}`);
      for (const side of ["consumer", "provider"] as const) {
        await applied[side];
        scope.status(`${side}: network configuration ${present[side].configuration ? "up to date" : "set up"}`);
      }
      const result = { consumer: await mapped.consumer, provider: await mapped.provider };
      scope.status(`consumer: the provider's ranges are ${describeMapping(own.provider, result.consumer)}`);
      scope.status(`provider: the consumer's ranges are ${describeMapping(own.consumer, result.provider)}`);
      return result;
    },
  };
}

/** An end in its role, with what is there of it. */
export interface OrientedEnd {
  end: LinkEnd;
  present: EndObjects;
}

/** Which end serves: as asked, unless gateways of the opposite orientation exist already. */
export function orient(
  ends: LinkEnds,
  present: Both<EndObjects>,
  location: LinkOptions["location"],
): { server: OrientedEnd; client: OrientedEnd } {
  const wanted = locationSide(location);
  const other = otherSide(wanted);
  const isOpposite = present[other].server !== undefined || present[wanted].client !== undefined;
  const server = isOpposite ? other : wanted;
  const client = otherSide(server);
  return {
    server: { end: ends[server], present: present[server] },
    client: { end: ends[client], present: present[client] },
  };
}

/** Who serves, and what of it the other direction's NetworkLink makes. */
interface Roles {
  server: OrientedEnd;
  client: OrientedEnd;
  /** A link that the other direction has made, the other way round, serves this one as well. */
  isReused: boolean;
}

async function agreeOnRoles(
  scope: Scope,
  ends: LinkEnds,
  present: Both<EndObjects>,
  applied: Both<Promise<Configuration>>,
  location: LinkOptions["location"],
): Promise<Roles> {
  const wanted = locationSide(location);
  const isThere = [present.consumer, present.provider].some(({ server, client }) => server ?? client);
  if (isThere && !isOwnMisplaced(ends, present, location)) {
    const { server, client } = orient(ends, present, location);
    return { server, client, isReused: server.present.server !== undefined && server.end.side !== wanted };
  }
  if (isThere) return turnAround(scope, ends, present, wanted);
  const side = await claimGateways(scope, ends, applied, wanted);
  const made = side === wanted ? undefined : await gatewayOfReverse(scope, ends[side], GatewayServerResource);
  const other = otherSide(side);
  return {
    server: { end: ends[side], present: { ...present[side], server: made } },
    client: { end: ends[other], present: present[other] },
    isReused: made !== undefined,
  };
}

/**
 * Whether gateways are the other way round than asked for, though no other direction's NetworkLink and no other tool has made them: a replaced NetworkLink
 * leaves its gateways to the other direction's pods.
 */
export function isOwnMisplaced(ends: LinkEnds, present: Both<EndObjects>, location: LinkOptions["location"]): boolean {
  const other = otherSide(locationSide(location));
  const isOwn = present[other].server?.metadata.managedFields?.some(({ manager }) => manager === MANAGER) ?? false;
  return isOwn && !SIDES.some((side) => isOfReverse(ends[side], present[side].configuration?.metadata.annotations));
}

/** Takes the gateways away, and has them made as asked. */
async function turnAround(scope: Scope, ends: LinkEnds, present: Both<EndObjects>, wanted: Side): Promise<Roles> {
  const other = otherSide(wanted);
  scope.status(`the gateways are made anew, with the server at the ${wanted}`);
  await removeGateways(scope, [ends.consumer, ends.provider]);
  const left = (side: Side): OrientedEnd => ({
    end: ends[side],
    present: { configuration: present[side].configuration },
  });
  return { server: left(wanted), client: left(other), isReused: false };
}

const SIDES = ["consumer", "provider"] as const;

function locationSide(location: LinkOptions["location"]): Side {
  return location === "Consumer" ? "consumer" : "provider";
}

function otherSide(side: Side): Side {
  return side === "consumer" ? "provider" : "consumer";
}

/** Brings up both gateways and the tunnel between them. */
function establish(
  scope: Scope,
  { server, client, isReused }: Roles,
  options: LinkOptions & KeyOptions,
): { report(): Promise<Pick<Link, "endpoint" | "connections">> } {
  const keep = <T>(present: T | undefined): T | undefined => (isReused ? present : undefined);
  const servers = scope.start(async (inner) => {
    const kept = keep(server.present.server);
    if (kept) return kept;
    await checkTemplate(inner, server.end, "server", options);
    return applyServer(inner, server.end, options, server.present.server);
  });
  const serverRuns = scope.start(async (inner) => waitUntilRunning(inner, server.end, "server", await servers));
  const endpoint = scope.start(async (inner) => waitForEndpoint(inner, server.end, await servers));
  const template = scope.start((inner) => checkTemplate(inner, client.end, "client", options));
  const clients = scope.start(async (inner) => {
    const kept = keep(client.present.client);
    if (kept) return kept;
    await template;
    const found = await endpoint;
    const made = isReused ? await gatewayOfReverse(inner, client.end, GatewayClientResource) : undefined;
    return made ?? applyClient(inner, client.end, options, found, client.present.client);
  });
  const clientRuns = scope.start(async (inner) => waitUntilRunning(inner, client.end, "client", await clients));
  const keys = scope.start((inner) => exchangeKeys(inner, { server, client }, servers, clients, options));
  const isPatient = options.server.type === "LoadBalancer";
  const connected = (here: LinkEnd, there: LinkEnd) =>
    scope.start(async (inner) => {
      const publicKeys = await keys;
      if (!options.shareKeys) return "";
      await Promise.all([serverRuns, clientRuns]);
      const gateways = { [server.end.side]: await servers, [client.end.side]: await clients };
      const tunnelEnd = (end: LinkEnd): TunnelEnd => ({
        end,
        gateway: gateways[end.side] as Gateway,
        publicKey: publicKeys[end.side],
      });
      return waitUntilConnected(inner, tunnelEnd(here), tunnelEnd(there), isPatient);
    });
  const connections = {
    [server.end.side]: connected(server.end, client.end),
    [client.end.side]: connected(client.end, server.end),
  };
  return {
    async report() {
      const already = isReused ? "already there, made by the other direction" : "set up";
      await servers;
      scope.status(`${server.end.side}: gateway server ${server.present.server && !isReused ? "up to date" : already}`);
      await serverRuns;
      scope.status(`${server.end.side}: gateway server's pod is ready`);
      const { addresses, port } = await endpoint;
      scope.status(`${server.end.side}: gateway server reachable at ${addresses.join(", ")}, UDP port ${port}`);
      await clients;
      scope.status(`${client.end.side}: gateway client ${client.present.client && !isReused ? "up to date" : already}`);
      await clientRuns;
      scope.status(`${client.end.side}: gateway client's pod is ready`);
      await keys;
      const exchanged = options.rotate ? "new keys made and exchanged" : "public keys exchanged";
      scope.status(options.shareKeys ? exchanged : "public keys left to be exchanged by hand");
      const result = {
        consumer: (await connections["consumer"]) ?? "",
        provider: (await connections["provider"]) ?? "",
      };
      if (options.shareKeys) {
        scope.status("consumer: connection established");
        scope.status("provider: connection established");
      }
      return { endpoint: await endpoint, connections: result };
    },
  };
}

/**
 * Each end gets the other's public key; a new one if asked for. Both ends' keys change side by side, so that the tunnel is without a
 * session for a moment only. Resolves to each end's own public key, by side.
 */
async function exchangeKeys(
  progress: Progress,
  { server, client }: { server: OrientedEnd; client: OrientedEnd },
  servers: ReturnType<typeof applyServer>,
  clients: ReturnType<typeof applyClient>,
  options: LinkOptions & KeyOptions,
): Promise<Partial<Record<string, string>>> {
  if (!options.shareKeys) return {};
  // Keys that the program names are its own to change.
  const ofServer = options.rotate && !options.server.secretRef ? rotateKeys : waitForPublicKey;
  const ofClient = options.rotate && !options.client.secretRef ? rotateKeys : waitForPublicKey;
  const toClient = async (): Promise<string> => {
    const key = await ofServer(progress, server.end, "server", await servers);
    await applyPublicKey(progress, client.end, "client", await clients, key, client.present.publicKey?.metadata.name);
    return key;
  };
  const toServer = async (): Promise<string> => {
    const key = await ofClient(progress, client.end, "client", await clients);
    await applyPublicKey(progress, server.end, "server", await servers, key, server.present.publicKey?.metadata.name);
    return key;
  };
  const [serverKey, clientKey] = await Promise.all([toClient(), toServer()]);
  return { [server.end.side]: serverKey, [client.end.side]: clientKey };
}

function describeRanges({ pod, external }: Ranges): string {
  return `pods ${pod.join(", ")}, external ${external.join(", ")}`;
}

function describeMapping(real: Ranges, mapped: Ranges): string {
  const pairs = [...real.pod, ...real.external].map((range, index) => {
    const name = [...mapped.pod, ...mapped.external][index];
    return name === range ? `${range} as they are` : `${range} mapped to ${name ?? "nothing"}`;
  });
  return pairs.join(", ");
}
