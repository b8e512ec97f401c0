import type { Run } from "../net/index.js";
import { Lock, type Logger } from "../runtime/index.js";
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

/** How long a session may be silent before a client begins a new one (two pings of a client's). */
export const SILENCE_MS = 1_000;

/** WireGuard tells of handshakes in whole seconds. */
const HANDSHAKE_PRECISION_MS = 1_000;

const NEW_DEVICE: WireGuardStatus = { privateKey: "", publicKey: "", listenPort: 0, peers: [] };

/** Keeps WireGuard's device as keys and endpoint ask, and a client's session alive. */
export class PeerKeeper {
  /** Spares looking at a device that has just been made. */
  deviceIsNew = false;
  /** When the tunnel was last set up differently, milliseconds since the epoch. */
  configuredAt = 0;
  private peer?: WireGuardPeer;
  private appliedEndpoint?: string;
  private restartedAt = 0;
  private receivedBytes = 0;
  /** A session that is begun anew would else put back a peer whose key has just been withdrawn. */
  private readonly lock = new Lock();

  constructor(
    private readonly run: Run,
    private readonly args: GatewayArguments,
    private readonly endpoints: EndpointChooser | undefined,
    private readonly logger: Logger,
  ) {}

  /**
   * Brings the device to the own private key and the peer's public one (base64; undefined: no peer). Resolves to whether there is a
   * peer that can be reached.
   */
  apply(privateKey: string, publicKey: string | undefined): Promise<boolean> {
    return this.lock.run(() => this.configure(privateKey, publicKey));
  }

  private async configure(privateKey: string, publicKey: string | undefined): Promise<boolean> {
    const endpoint = this.endpoints?.endpoint;
    const isReachable = publicKey !== undefined && (this.endpoints === undefined || endpoint !== undefined);
    this.peer = isReachable ? { publicKey, endpoint } : undefined;
    const config = {
      privateKey,
      listenPort: this.args.mode === "server" ? this.args.listenPort : undefined,
      peer: this.peer,
    };
    const present = this.deviceIsNew ? NEW_DEVICE : await wireguardStatus(this.run, TUNNEL_DEVICE);
    const changes = wireguardChanges(config, present, this.appliedEndpoint);
    if (changes) {
      try {
        await applyChanges(this.run, TUNNEL_DEVICE, changes);
      } finally {
        // A command that failed may have done its work all the same, and the next look finds nothing to change.
        this.deviceIsNew = false;
        this.configuredAt = Date.now();
        this.restartedAt = 0;
      }
      this.logger.info({ peer: this.peer !== undefined, endpoint }, "tunnel configured");
    }
    this.appliedEndpoint = endpoint;
    return isReachable;
  }

  /**
   * Clients: begins a new session when the present one is dead, far sooner than WireGuard itself would. `silenceMs` is how long
   * the peer has not answered. Resolves to whether it did.
   */
  revive(silenceMs: number): Promise<boolean> {
    return this.lock.run(() => this.restartIfDead(silenceMs));
  }

  private async restartIfDead(silenceMs: number): Promise<boolean> {
    if (!this.peer || !this.endpoints) return false;
    const now = Date.now();
    const age = Math.min(now - this.configuredAt, silenceMs);
    if (now - Math.max(this.configuredAt, this.restartedAt) < restartInterval(age)) return false;
    const status = await wireguardStatus(this.run, TUNNEL_DEVICE);
    const peer = status.peers.find(({ publicKey }) => publicKey === this.peer?.publicKey);
    // A handshake from before the last change of keys is worth nothing.
    const hasHandshake = (peer?.latestHandshake ?? 0) * 1000 > this.configuredAt - HANDSHAKE_PRECISION_MS;
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
export function restartInterval(ageMs: number): number {
  if (ageMs < 10_000) return 500;
  if (ageMs < 30_000) return 1_000;
  return ageMs < 120_000 ? 2_000 : 5_000;
}
