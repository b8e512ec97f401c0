import { readFile } from "node:fs/promises";
import path from "node:path";
import { DataKeys } from "../api/names.js";
import type { Run } from "../net/index.js";
import type { Logger } from "../runtime/index.js";
import type { GatewayArguments } from "./arguments.js";
import { TUNNEL_DEVICE } from "./constants.js";
import type { EndpointChooser } from "./endpoint-chooser.js";
import {
  applyChanges,
  restartPeer,
  wireguardChanges,
  wireguardStatus,
  type WireGuardPeer,
  type WireGuardStatus,
} from "./wireguard.js";

/** How long a session may be silent before a client begins a new one (two pings and a half). */
const SILENCE_MS = 5_000;

const NEW_DEVICE: WireGuardStatus = { privateKey: "", listenPort: 0, peers: [] };

/** Keeps WireGuard's device as keys and endpoint ask, and a client's session alive. */
export class PeerKeeper {
  /** Spares looking at a device that has just been made. */
  deviceIsNew = false;
  private peer?: WireGuardPeer;
  private appliedEndpoint?: string;
  private configuredAt = 0;
  private restartedAt = 0;
  private receivedBytes = 0;

  constructor(
    private readonly run: Run,
    private readonly args: GatewayArguments,
    private readonly endpoints: EndpointChooser | undefined,
    private readonly logger: Logger,
  ) {}

  /** Brings the device to the peer's key (base64; undefined: no peer). Resolves to whether there is a peer that can be reached. */
  async apply(publicKey: string | undefined): Promise<boolean> {
    const endpoint = this.endpoints?.endpoint;
    const isReachable = publicKey !== undefined && (this.endpoints === undefined || endpoint !== undefined);
    this.peer = isReachable ? { publicKey, endpoint } : undefined;
    const config = {
      privateKey: await readPrivateKey(this.args.keysFolder),
      listenPort: this.args.mode === "server" ? this.args.listenPort : undefined,
      peer: this.peer,
    };
    const present = this.deviceIsNew ? NEW_DEVICE : await wireguardStatus(this.run, TUNNEL_DEVICE);
    const changes = wireguardChanges(config, present, this.appliedEndpoint);
    if (changes) {
      await applyChanges(this.run, TUNNEL_DEVICE, changes);
      this.deviceIsNew = false;
      this.logger.info({ peer: this.peer !== undefined, endpoint }, "tunnel configured");
      this.configuredAt = Date.now();
      this.restartedAt = 0;
    }
    this.appliedEndpoint = endpoint;
    return isReachable;
  }

  /**
   * Clients: begins a new session when the present one is dead, far sooner than WireGuard itself would. `silenceMs` is how long
   * the peer has not answered. Resolves to whether it did.
   */
  async revive(silenceMs: number, isConnected: boolean): Promise<boolean> {
    if (!this.peer || !this.endpoints) return false;
    const now = Date.now();
    if (now - Math.max(this.configuredAt, this.restartedAt) < restartInterval(now - this.configuredAt, isConnected))
      return false;
    const status = await wireguardStatus(this.run, TUNNEL_DEVICE);
    const peer = status.peers.find(({ publicKey }) => publicKey === this.peer?.publicKey);
    const hasHandshake = (peer?.latestHandshake ?? 0) > 0;
    const isHeard = (peer?.receivedBytes ?? 0) > this.receivedBytes;
    this.receivedBytes = peer?.receivedBytes ?? 0;
    if (hasHandshake && (silenceMs < SILENCE_MS || isHeard)) return false;
    if (this.restartedAt > 0) this.endpoints.next();
    this.restartedAt = now;
    this.receivedBytes = 0;
    this.peer = { ...this.peer, endpoint: this.endpoints.endpoint };
    this.appliedEndpoint = this.peer.endpoint;
    await restartPeer(this.run, TUNNEL_DEVICE, this.peer);
    return true;
  }
}

/** Milliseconds between attempts: short at first, when the other side is likely to be just starting. */
export function restartInterval(ageMs: number, wasConnected: boolean): number {
  if (wasConnected) return 1_000;
  if (ageMs < 5_000) return 500;
  if (ageMs < 30_000) return 1_000;
  return ageMs < 120_000 ? 2_000 : 5_000;
}

/** The key as base64 text; the Secret has its 32 bytes. @throws Error when it has not */
async function readPrivateKey(folder: string): Promise<string> {
  const file = path.join(folder, DataKeys.privateKey);
  const bytes = await readFile(file);
  if (bytes.length !== 32) throw new Error(`private key ${file}: must be 32 bytes, has ${bytes.length}`);
  return bytes.toString("base64");
}
