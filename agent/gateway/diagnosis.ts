import { CONNECTION_CHECK_PORT } from "./constants.js";
import type { PathVerdict } from "./path-probe.js";

/** What is known of a tunnel that does not answer. */
export interface Observations {
  mode: "server" | "client";
  remoteClusterID: string;
  /** This gateway's public key, base64. */
  ownKey: string;
  /** The peer's, as its PublicKey has it. */
  peerKey: string;
  /** Clients: where the server is looked for; undefined: its name cannot be resolved. */
  endpoint?: string;
  endpointAddresses: readonly string[];
  /** Clients: the endpoint's host says that nothing listens there. */
  isRefused: boolean;
  listenPort: number;
  /** Servers: handshake requests that have come in, from whomever, since the last look. */
  requests: number;
  /** Whether a handshake has succeeded lately and packets of the peer come in. */
  hasSession: boolean;
}

/** Why the other gateway is not heard, as far as this end can tell, and what to look at. Never a private key. */
export function explainSilence(seen: Observations): string {
  const { remoteClusterID: remote } = seen;
  if (seen.hasSession) {
    return `the tunnel to ${remote} is up, but the other gateway does not answer the connection check (UDP port ${CONNECTION_CHECK_PORT} inside the tunnel): is its process running?`;
  }
  return seen.mode === "client" ? explainClient(seen) : explainServer(seen);
}

function explainClient(seen: Observations): string {
  const { remoteClusterID, endpoint, isRefused, ownKey } = seen;
  if (endpoint === undefined) return explainUnresolved(seen);
  if (isRefused) {
    return `nothing listens on UDP ${endpoint}: the port is wrong, or ${remoteClusterID}'s gateway server does not run`;
  }
  return (
    `no answer from ${remoteClusterID}'s gateway server at UDP ${endpoint}: UDP is blocked on the way, address or port are wrong, ` +
    `or the keys do not match (the PublicKey there must be ${ownKey})`
  );
}

function explainServer({ remoteClusterID, listenPort, requests, ownKey, peerKey }: Observations): string {
  if (requests > 0) {
    return (
      `the keys do not match: handshake requests arrive on UDP port ${listenPort}, but none is valid. ${remoteClusterID}'s gateway must have the ` +
      `public key ${peerKey} (the PublicKey here), and the PublicKey there must be ${ownKey}`
    );
  }
  return `nothing arrives from ${remoteClusterID}'s gateway client on UDP port ${listenPort}: UDP is blocked on the way, or the client uses another address or port`;
}

/** Why there is no peer to connect to: what this end has to have been given and has not. */
export function explainNobody(seen: {
  namespace: string;
  remoteClusterID: string;
  endpointAddresses: readonly string[];
  isPeerKnown: boolean;
}): string {
  if (seen.isPeerKnown) return explainUnresolved(seen);
  return `there is no PublicKey of ${seen.remoteClusterID}'s gateway in namespace ${seen.namespace}`;
}

function explainUnresolved({
  remoteClusterID,
  endpointAddresses,
}: Pick<Observations, "remoteClusterID" | "endpointAddresses">): string {
  return `the address of ${remoteClusterID}'s gateway server cannot be resolved: ${endpointAddresses.join(", ") || "none is given"}`;
}

/** What is wrong with the tunnel's MTU, and which would do. Undefined when nothing is known to be wrong. */
export function explainPath({ state, largest }: PathVerdict, mtu: number): string | undefined {
  if (state !== "lost" && state !== "fragmented") return undefined;
  const what = state === "lost" ? "do not reach the other gateway" : "reach the other gateway only in fragments";
  return `the MTU is too large: packets of ${mtu} bytes ${what}; set it to ${largest} or less at both ends`;
}
