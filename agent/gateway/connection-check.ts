import dgram from "node:dgram";
import { performance } from "node:perf_hooks";
import { CONNECTION_CHECK_PORT } from "./constants.js";
import { parsePingMessage, pingMessage, pongMessage } from "./ping-message.js";

export interface ConnectionCheckOptions {
  remoteClusterID: string;
  /** The other end of the tunnel. */
  peerAddress: string;
  intervalMs: number;
  lossThreshold: number;
  /** Told of each change between connected and not, and of each new latency (milliseconds). */
  onResult: (result: ConnectionResult) => void;
  port?: number;
}

export interface ConnectionResult {
  connected: boolean;
  /** Milliseconds of the round trip; 0 when not connected. */
  latency: number;
}

/** How often to ping while there is no answer: often at first, as a link that comes up should be seen at once. */
const EAGER_MS = 200;
const EAGER_FOR_MS = 60_000;
const IMPATIENT_MS = 1_000;

/**
 * Asks the peer whether it is there, and answers when it asks (network specification, §7). Each side judges for itself; pings from
 * both keep address translators on the way from forgetting the tunnel.
 */
export class ConnectionCheck {
  private readonly socket = dgram.createSocket("udp4");
  /** Time stamps sent, with when by the monotonic clock. */
  private readonly sent = new Map<string, number>();
  private pingTimer?: NodeJS.Timeout;
  private verdictTimer?: NodeJS.Timeout;
  private startedAt = 0;
  /** When the last PONG came, or the window began, by the monotonic clock. */
  private heardAt = 0;
  private lastStamp = "";
  private verdict?: boolean;

  constructor(private readonly options: ConnectionCheckOptions) {}

  /** Answers pings from now on. */
  async listen(): Promise<void> {
    this.socket.on("message", (datagram, source) => this.receive(datagram, source));
    this.socket.on("error", () => undefined);
    await new Promise<void>((resolve, reject) => {
      this.socket.once("error", reject);
      this.socket.bind(this.options.port ?? CONNECTION_CHECK_PORT, "0.0.0.0", () => {
        this.socket.off("error", reject);
        resolve();
      });
    });
  }

  /** Begins to ping, at once. */
  start(): void {
    if (this.verdictTimer) return;
    const now = performance.now();
    this.startedAt = now;
    this.heardAt = now;
    this.verdictTimer = setInterval(() => this.judge(), (this.options.lossThreshold * this.options.intervalMs) / 10);
    this.ping();
  }

  /** Pings right now, such as when the tunnel has just been set up anew. */
  ping(): void {
    if (!this.verdictTimer) return;
    clearTimeout(this.pingTimer);
    const timeStamp = new Date().toISOString();
    this.sent.set(timeStamp, performance.now());
    this.forgetOld();
    const { remoteClusterID, peerAddress, port = CONNECTION_CHECK_PORT } = this.options;
    this.socket.send(pingMessage(remoteClusterID, timeStamp), port, peerAddress, () => undefined);
    this.pingTimer = setTimeout(() => this.ping(), this.nextPingMs());
  }

  get isConnected(): boolean {
    return this.verdict === true;
  }

  /** Milliseconds since the peer was last heard, or since the check began. */
  get silenceMs(): number {
    return this.verdictTimer ? performance.now() - this.heardAt : 0;
  }

  close(): void {
    clearTimeout(this.pingTimer);
    clearInterval(this.verdictTimer);
    this.socket.close();
  }

  private nextPingMs(): number {
    if (this.isConnected) return this.options.intervalMs;
    const eager = performance.now() - Math.max(this.startedAt, this.heardAt) < EAGER_FOR_MS;
    return Math.min(this.options.intervalMs, eager ? EAGER_MS : IMPATIENT_MS);
  }

  private receive(datagram: Buffer, source: dgram.RemoteInfo): void {
    const message = parsePingMessage(datagram);
    if (!message) return;
    // Whose cluster is asked for does not matter: there is one peer, and it is the one asking.
    if (message.msgType === "PING")
      this.socket.send(pongMessage(message), source.port, source.address, () => undefined);
    else if (message.clusterID === this.options.remoteClusterID) this.heard(message.timeStamp);
  }

  private heard(timeStamp: string): void {
    const sentAt = this.sent.get(timeStamp);
    if (sentAt === undefined || timeStamp < this.lastStamp) return;
    this.lastStamp = timeStamp;
    this.heardAt = performance.now();
    this.verdict = true;
    this.options.onResult({ connected: true, latency: this.heardAt - sentAt });
  }

  private judge(): void {
    if (this.verdict === false || this.silenceMs <= this.options.lossThreshold * this.options.intervalMs) return;
    this.verdict = false;
    this.options.onResult({ connected: false, latency: 0 });
    this.ping();
  }

  private forgetOld(): void {
    const limit = performance.now() - this.options.lossThreshold * this.options.intervalMs * 2;
    for (const [stamp, at] of this.sent) if (at < limit) this.sent.delete(stamp);
  }
}
