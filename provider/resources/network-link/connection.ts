import { isIPv4 } from "node:net";
import {
  ConnectionResource,
  ConnectionValue,
  DataKeys,
  FullSizePackets,
  GatewayClientResource,
  PublicKeyResource,
  type Connection,
  type GatewayClient,
} from "../../../agent/api/index.js";
import { splitEndpoint } from "../../../agent/gateway/endpoint-text.js";
import { SecretResource } from "../../../agent/runtime/index.js";
import { ifVisible, waitFor, withLimit, WaitTimeout, type Progress, type Verdict } from "../../waits/index.js";
import type { LinkEnd } from "./ends.js";
import { explainGateway } from "./explain.js";
import type { Gateway } from "./gateways.js";
import { remoteLabels } from "./manifests.js";

/** How long to wait, in milliseconds. */
interface Limits {
  /** Two running gateways that reach each other connect within this time, by far; a load balancer that is new may take minutes. */
  connect: number;
  /**
   * What both gateways say of a peer that is not there counts after this time, of which explaining takes two seconds: their first words take six to nine
   * seconds, and the slowest implementations of Services take ten to lead to a new pod.
   */
  certain: number;
  /** And again from then on, at this interval. */
  look: number;
}

const LIMITS: Limits = { connect: 27_000, certain: 14_000, look: 4_000 };
/** With less than this left there is no further wait. */
const LAST_MS = 3_000;

/** One end of the tunnel, with its gateway. */
export interface TunnelEnd {
  end: LinkEnd;
  gateway: Gateway;
  /** Its public key, base64; undefined where keys are not exchanged here. */
  publicKey?: string;
}

/** What a Connection must tell before its state counts: it may still be that of the tunnel before a change. */
export interface Wanted {
  mtu?: number;
  /** Clients: where they are to look for the server. Servers: the port that they are to listen on. */
  endpoint?: { addresses?: string[]; port?: number };
  publicKey?: string;
  peerPublicKey?: string;
}

/**
 * Waits until this end sees the tunnel connected and full-size packets pass.
 *
 * @throws WaitTimeout with what both gateways say, from 14 s on once both know what is wrong, else after 27 s, unless the server is behind a load balancer
 */
export async function waitUntilConnected(
  progress: Progress,
  here: TunnelEnd,
  there: TunnelEnd,
  isPatient: boolean,
  limits: Limits = LIMITS,
): Promise<string> {
  const { end } = here;
  const since = Date.now();
  const wait = (limited: Progress): Promise<string> =>
    waitFor(limited, {
      client: end.client,
      type: ConnectionResource,
      namespace: end.namespace,
      labelSelector: remoteLabels(end),
      what: `the connection to ${end.remoteId} in the ${end.side}`,
      judge: (connections) => judgeConnection(connections, wantedOf(here, there)),
      since,
      explain: (signal) => explainConnection(here, there, signal),
    });
  if (!isPatient) return waitWhileUncertain(progress, wait, [here.end, there.end], limits);
  try {
    return await wait(withLimit(progress, limits.connect));
  } catch (error) {
    if (!(error instanceof WaitTimeout) || progress.deadline - Date.now() < limits.connect) throw error;
    progress.log("warning", `${error.message}; waiting on, as a load balancer may take its time`);
    return wait(progress);
  }
}

/** Waits on where time is over without both gateways knowing a cause: one may just be starting. */
async function waitWhileUncertain(
  progress: Progress,
  wait: (limited: Progress) => Promise<string>,
  ends: readonly LinkEnd[],
  { connect, certain, look }: Limits,
): Promise<string> {
  const whole = withLimit(progress, connect);
  for (let limit = certain; ; limit = look) {
    try {
      return await wait(withLimit(whole, limit));
    } catch (error) {
      if (!(error instanceof WaitTimeout) || whole.deadline - Date.now() < LAST_MS) throw error;
      if (await knowCause(ends, progress.signal)) throw error;
    }
  }
}

/** Whether each of the gateways tells why it does not hear the other. What cannot be read says nothing. */
async function knowCause(ends: readonly LinkEnd[], signal: AbortSignal): Promise<boolean> {
  const connections = await Promise.all(ends.map((end) => presentConnection(end, signal).catch(() => undefined)));
  return connections.every((connection) => connection !== undefined && tellsCause(connection));
}

function tellsCause({ status }: Pick<Connection, "status">): boolean {
  return status?.value !== ConnectionValue.connected && Boolean(status?.message);
}

export function judgeConnection([connection]: readonly Connection[], wanted: Wanted = {}): Verdict<string> {
  if (!connection) return { waiting: "the gateway has not begun to connect" };
  const { value, message, fullSizePackets, mtu: present, endpoint } = connection.status ?? {};
  if (endpoint !== undefined && !isWantedEndpoint(endpoint, wanted.endpoint))
    return { waiting: `the gateway still ${describeEndpoint(endpoint)}` };
  if (value === ConnectionValue.error) {
    return {
      waiting:
        message ?? "no answer comes through the tunnel (is the server's UDP port reachable from the client's cluster?)",
    };
  }
  if (value !== ConnectionValue.connected) return { waiting: message ?? `it is ${value ?? "not reported yet"}` };
  const strangers = otherKeys(connection, wanted);
  if (strangers)
    return { waiting: `the gateways have not connected with the new keys yet (it tells of another ${strangers})` };
  // Gateways other than ours say nothing of sizes.
  if (present === undefined) return { done: value };
  if (wanted.mtu && present !== wanted.mtu) return { waiting: `the gateway still runs with MTU ${present}` };
  if (fullSizePackets === undefined) return { waiting: "whether full-size packets pass is not known yet" };
  if (fullSizePackets === FullSizePackets.lost || fullSizePackets === FullSizePackets.fragmented)
    return { failed: `mtu: ${message ?? "the MTU is too large"}` };
  return { done: value };
}

function wantedOf({ gateway, publicKey }: TunnelEnd, { publicKey: peerPublicKey }: TunnelEnd): Wanted {
  const { kind, spec } = gateway;
  const isClient = kind === GatewayClientResource.kind;
  const endpoint = isClient ? (spec as GatewayClient["spec"]).endpoint : { port: spec.endpoint?.port };
  return { mtu: spec.mtu, endpoint, publicKey, peerPublicKey };
}

/** Of addresses that are names nobody but the gateway knows what they stand for. */
function isWantedEndpoint(present: string, { addresses = [], port }: NonNullable<Wanted["endpoint"]> = {}): boolean {
  const { address, port: presentPort } = splitEndpoint(present);
  const isElsewhere = addresses.length > 0 && addresses.every(isIPv4) && !addresses.includes(address);
  return !isElsewhere && (port === undefined || presentPort === port);
}

/** A server tells of its port alone. */
function describeEndpoint(endpoint: string): string {
  const { address, port } = splitEndpoint(endpoint);
  return address === "" ? `listens on UDP port ${port}` : `looks for the server at ${endpoint}`;
}

/** Gateways other than ours do not tell their keys. */
function otherKeys({ status }: Connection, wanted: Wanted): string | undefined {
  const differing = (["publicKey", "peerPublicKey"] as const).filter((name) => {
    const present = status?.[name];
    return present !== undefined && wanted[name] !== undefined && present !== wanted[name];
  });
  return differing.length > 0 ? differing.join(" and ") : undefined;
}

async function presentConnection(end: LinkEnd, signal: AbortSignal): Promise<Connection | undefined> {
  const labelSelector = remoteLabels(end);
  const { items } = await end.client.list(ConnectionResource, { namespace: end.namespace, labelSelector, signal });
  return items[0];
}

/** Why the two gateways do not hear each other: keys that do not match, pods that do not run, and what each of them says. */
async function explainConnection(here: TunnelEnd, there: TunnelEnd, signal: AbortSignal): Promise<string | undefined> {
  const findings = await Promise.all(
    [
      explainKeys(here, there, signal),
      explainKeys(there, here, signal),
      explainGateway(here.end, here.gateway.metadata.name ?? "", signal),
      explainGateway(there.end, there.gateway.metadata.name ?? "", signal),
      messageOfGateway(there.end, signal),
    ].map((finding) => ifVisible(finding)),
  );
  const known = findings.filter((finding) => finding !== undefined);
  return known.length > 0 ? known.join("; ") : undefined;
}

async function messageOfGateway(end: LinkEnd, signal: AbortSignal): Promise<string | undefined> {
  const message = (await presentConnection(end, signal))?.status?.message;
  return message && `the ${end.side}'s gateway says: ${message}`;
}

/** Whether one end has the other's public key. */
async function explainKeys(owner: TunnelEnd, holder: TunnelEnd, signal: AbortSignal): Promise<string | undefined> {
  const [own, held] = await Promise.all([ownKey(owner.end, owner.gateway, signal), heldKey(holder.end, signal)]);
  if (own === undefined || held === undefined || own === held) return undefined;
  return `the ${holder.end.side}'s PublicKey is not the key of the ${owner.end.side}'s gateway`;
}

/** The public key of an end's own gateway, base64: of its Secret, else, where that is not to be seen, as the gateway's status tells it. */
export async function ownKey(
  { client, namespace }: LinkEnd,
  { status }: Pick<Gateway, "status">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, namespace: elsewhere } = status?.secretRef ?? {};
  if (!name) return undefined;
  const secret = await ifVisible(client.get(SecretResource, { name, namespace: elsewhere ?? namespace }, signal));
  return secret?.data?.[DataKeys.publicKey] ?? status?.publicKey;
}

async function heldKey(end: LinkEnd, signal: AbortSignal): Promise<string | undefined> {
  const labelSelector = remoteLabels(end);
  const { items } = await end.client.list(PublicKeyResource, { namespace: end.namespace, labelSelector, signal });
  return items[0]?.spec.publicKey;
}
