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
  /** Milliseconds between pings while connected. Default: intervalMs. */
  connectedIntervalMs?: number;
  /** Called with each ping while the peer has not answered for longer than silenceMs. */
  onSilence?: { afterMs: number; call: () => void };
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
  private timer?: NodeJS.Timeout;
  private isRunning = false;
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
    if (this.isRunning) return;
    this.isRunning = true;
    this.verdict = undefined;
    this.startedAt = performance.now();
    this.heardAt = this.startedAt;
    this.ping();
  }

  /** Pings no more until it is started again; pings of the peer are still answered. */
  stop(): void {
    this.isRunning = false;
    clearTimeout(this.timer);
  }

  /** Pings right now, as the tunnel has just been set up anew: answers to earlier pings tell nothing of it. */
  pingAnew(): void {
    this.sent.clear();
    this.ping();
  }

  /** Pings right now. */
  ping(): void {
    if (!this.isRunning) return;
    clearTimeout(this.timer);
    this.judge();
    const timeStamp = new Date().toISOString();
    this.sent.set(timeStamp, performance.now());
    this.forgetOld();
    const { remoteClusterID, peerAddress, port = CONNECTION_CHECK_PORT, onSilence } = this.options;
    this.socket.send(pingMessage(remoteClusterID, timeStamp), port, peerAddress, () => undefined);
    this.timer = setTimeout(() => this.ping(), this.nextPingMs());
    if (onSilence && this.silenceMs > onSilence.afterMs) onSilence.call();
  }

  get isConnected(): boolean {
    return this.verdict === true;
  }

  /** Milliseconds since the peer was last heard, or since the check began. */
  get silenceMs(): number {
    return this.isRunning ? performance.now() - this.heardAt : 0;
  }

  close(): void {
    this.stop();
    this.socket.close();
  }

  /** Milliseconds of silence after which the peer counts as lost. */
  private get patienceMs(): number {
    return this.options.lossThreshold * this.options.intervalMs;
  }

  private nextPingMs(): number {
    const { intervalMs, connectedIntervalMs = intervalMs } = this.options;
    if (this.isConnected) return connectedIntervalMs;
    const eager = performance.now() - Math.max(this.startedAt, this.heardAt) < EAGER_FOR_MS;
    const interval = Math.min(intervalMs, eager ? EAGER_MS : IMPATIENT_MS);
    // The verdict falls in time.
    const untilVerdict = this.patienceMs - this.silenceMs + 1;
    return this.verdict === undefined && untilVerdict > 0 ? Math.min(interval, untilVerdict) : interval;
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
    if (sentAt === undefined || timeStamp < this.lastStamp || !this.isRunning) return;
    this.lastStamp = timeStamp;
    this.heardAt = performance.now();
    this.verdict = true;
    this.options.onResult({ connected: true, latency: this.heardAt - sentAt });
  }

  private judge(): void {
    if (this.verdict === false || this.silenceMs <= this.patienceMs) return;
    this.verdict = false;
    this.options.onResult({ connected: false, latency: 0 });
  }

  private forgetOld(): void {
    const limit = performance.now() - this.patienceMs * 2;
    for (const [stamp, at] of this.sent) if (at < limit) this.sent.delete(stamp);
  }
}
