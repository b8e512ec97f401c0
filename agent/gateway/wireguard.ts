import type { Run } from "../net/index.js";
import { withMemoryFile } from "../net/memory-file.js";

/** What the device must be set to. Keys are base64 text. */
export interface WireGuardConfig {
  privateKey: string;
  /** Servers only; clients use a port chosen by the system. */
  listenPort?: number;
  peer?: WireGuardPeer;
}

export interface WireGuardPeer {
  publicKey: string;
  /** "address:port"; clients only: a server learns it. */
  endpoint?: string;
}

/** What `wg show <device> dump` tells. */
export interface WireGuardStatus {
  privateKey: string;
  publicKey: string;
  listenPort: number;
  peers: PeerStatus[];
}

export interface PeerStatus {
  publicKey: string;
  endpoint?: string;
  allowedIPs: string;
  /** Seconds since 1970; 0: none yet. */
  latestHandshake: number;
  receivedBytes: number;
  sentBytes: number;
}

const ALL = "0.0.0.0/0";

/** Reads the device's state. */
export async function wireguardStatus(run: Run, device: string): Promise<WireGuardStatus> {
  return parseDump(await run("wg", ["show", device, "dump"]));
}

/** Parses `wg show <device> dump`: tab-separated, the device's line first. */
export function parseDump(text: string): WireGuardStatus {
  const [device = [], ...peers] = text
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  return {
    privateKey: device[0] ?? "",
    publicKey: device[1] ?? "",
    listenPort: Number(device[2] ?? 0),
    peers: peers.map(([publicKey = "", , endpoint, allowedIPs = "", handshake, received, sent]) => ({
      publicKey,
      endpoint: endpoint === "(none)" ? undefined : endpoint,
      allowedIPs,
      latestHandshake: Number(handshake ?? 0),
      receivedBytes: Number(received ?? 0),
      sentBytes: Number(sent ?? 0),
    })),
  };
}

/** What `wg set` must be told. The private key is apart, as it must not be an argument that other processes could see. */
export interface WireGuardChanges {
  privateKey?: string;
  args: string[];
}

/**
 * What brings the device to the configuration without disturbing an established session. Undefined when nothing differs.
 * `appliedEndpoint` is what was last set: the peer may be heard from elsewhere since, and is followed there.
 */
export function wireguardChanges(
  desired: WireGuardConfig,
  present: WireGuardStatus,
  appliedEndpoint: string | undefined,
): WireGuardChanges | undefined {
  const { privateKey, listenPort, peer } = desired;
  const args: string[] = [];
  if (listenPort !== undefined && listenPort !== present.listenPort) args.push("listen-port", String(listenPort));
  for (const { publicKey } of present.peers) {
    if (publicKey !== peer?.publicKey) args.push("peer", publicKey, "remove");
  }
  if (peer) args.push(...peerArguments(peer, present, appliedEndpoint));
  if (privateKey !== present.privateKey) return { privateKey, args };
  return args.length > 0 ? { args } : undefined;
}

/** Makes the changes. The key passes through a file in memory that only this user can read, for as long as `wg` runs. */
export async function applyChanges(run: Run, device: string, { privateKey, args }: WireGuardChanges): Promise<void> {
  if (privateKey === undefined) {
    await run("wg", ["set", device, ...args]);
    return;
  }
  await withMemoryFile(`${privateKey}\n`, (file) => run("wg", ["set", device, "private-key", file, ...args]));
}

function peerArguments(peer: WireGuardPeer, present: WireGuardStatus, appliedEndpoint: string | undefined): string[] {
  const there = present.peers.find(({ publicKey }) => publicKey === peer.publicKey);
  // A server's answer may come from another address and be followed; only a new wish overrides that.
  const endpointDiffers = peer.endpoint !== undefined && (peer.endpoint !== appliedEndpoint || !there?.endpoint);
  if (there?.allowedIPs === ALL && !endpointDiffers) return [];
  return [
    "peer",
    peer.publicKey,
    ...(peer.endpoint === undefined ? [] : ["endpoint", peer.endpoint]),
    "allowed-ips",
    ALL,
  ];
}

/** Forgets the session with the peer and begins a new one at once, instead of waiting for WireGuard's own timers (5 to 15 s). */
export async function restartPeer(run: Run, device: string, peer: WireGuardPeer): Promise<void> {
  await run("wg", ["set", device, "peer", peer.publicKey, "remove"]);
  const endpoint = peer.endpoint === undefined ? [] : ["endpoint", peer.endpoint];
  await run("wg", ["set", device, "peer", peer.publicKey, ...endpoint, "allowed-ips", ALL]);
}
