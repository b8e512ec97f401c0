import dgram from "node:dgram";
import { performance } from "node:perf_hooks";
import type { ServerEndpoint } from "../api/index.js";
import { sameJson } from "../runtime/index.js";
import { CONNECTION_CHECK_PORT } from "./constants.js";
import { endpointMessage, parseEndpointMessage } from "./endpoint-message.js";
import { parsePingMessage, pingMessage, pongMessage } from "./ping-message.js";
import { PingRhythm, type PingRhythmOptions } from "./ping-rhythm.js";

export interface ConnectionCheckOptions extends PingRhythmOptions {
  remoteClusterID: string;
  /** The other end of the tunnel. */
  peerAddress: string;
  /** Told of each change between connected and not, and of each new latency (milliseconds). */
  onResult: (result: ConnectionResult) => void;
  /** Called with each ping while the peer has not answered for longer than silenceMs. */
  onSilence?: { afterMs: number; call: () => void };
  /** Told where the peer, a server, says that it is reached; often the same. */
  onEndpoint?: (endpoint: ServerEndpoint) => void;
  port?: number;
}

export interface ConnectionResult {
  connected: boolean;
  /** Milliseconds of the round trip; 0 when not connected. */
  latency: number;
}

/** A datagram may be lost, and a client may have been made anew: how often it is told again where its server is. */
const TELL_AGAIN_MS = 30_000;

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
  /** When the latest ping that was answered was sent, by the monotonic clock: the other one may be set back. */
  private lastSentAt = 0;
  private readonly rhythm: PingRhythm;
  private ownEndpoint?: ServerEndpoint;
  /** When the peer was told of it last, by the monotonic clock. */
  private toldAt = -Infinity;

  constructor(private readonly options: ConnectionCheckOptions) {
    this.rhythm = new PingRhythm(options);
  }

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
    this.rhythm.begin(performance.now());
    this.ping();
  }

  /** Pings no more until it is started again; pings of the peer are still answered. */
  stop(): void {
    this.isRunning = false;
    clearTimeout(this.timer);
  }

  /** Tells the peer, a client, from now on where this server is reached: whenever it answers and has not been told lately. */
  announce(endpoint: ServerEndpoint | undefined): void {
    if (sameJson(endpoint, this.ownEndpoint)) return;
    this.ownEndpoint = endpoint;
    this.toldAt = -Infinity;
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
    const now = performance.now();
    if (this.rhythm.ask(now)) this.lose();
    const timeStamp = new Date().toISOString();
    this.sent.set(timeStamp, now);
    this.forgetOld(now);
    const { remoteClusterID, peerAddress, port = CONNECTION_CHECK_PORT, onSilence } = this.options;
    this.socket.send(pingMessage(remoteClusterID, timeStamp), port, peerAddress, () => undefined);
    this.timer = setTimeout(() => this.ping(), this.rhythm.pauseMs(now));
    if (onSilence && this.silenceMs > onSilence.afterMs) onSilence.call();
  }

  /** Milliseconds since the peer was last heard, or since the check began. */
  get silenceMs(): number {
    return this.isRunning ? this.rhythm.silenceMs(performance.now()) : 0;
  }

  close(): void {
    this.stop();
    this.socket.close();
  }

  private receive(datagram: Buffer, source: dgram.RemoteInfo): void {
    const message = parsePingMessage(datagram);
    if (!message) return this.hearEndpoint(datagram, source);
    // Whose cluster is asked for does not matter: there is one peer, and it is the one asking.
    if (message.msgType === "PING")
      this.socket.send(pongMessage(message), source.port, source.address, () => undefined);
    else if (message.clusterID === this.options.remoteClusterID) this.heard(message.timeStamp);
  }

  private heard(timeStamp: string): void {
    const sentAt = this.sent.get(timeStamp);
    if (sentAt === undefined || sentAt < this.lastSentAt || !this.isRunning) return;
    this.lastSentAt = sentAt;
    const now = performance.now();
    this.rhythm.hear(now);
    this.options.onResult({ connected: true, latency: now - sentAt });
    this.tellEndpoint(now);
  }

  private lose(): void {
    this.toldAt = -Infinity;
    this.options.onResult({ connected: false, latency: 0 });
  }

  private tellEndpoint(now: number): void {
    if (!this.ownEndpoint || now - this.toldAt < TELL_AGAIN_MS) return;
    this.toldAt = now;
    const { remoteClusterID, peerAddress, port = CONNECTION_CHECK_PORT } = this.options;
    this.socket.send(endpointMessage(remoteClusterID, this.ownEndpoint), port, peerAddress, () => undefined);
  }

  /** Only the peer's own gateway has that address. */
  private hearEndpoint(datagram: Buffer, source: dgram.RemoteInfo): void {
    const { onEndpoint, peerAddress } = this.options;
    if (!onEndpoint || source.address !== peerAddress) return;
    const endpoint = parseEndpointMessage(datagram);
    if (endpoint) onEndpoint(endpoint);
  }

  private forgetOld(now: number): void {
    const limit = now - this.rhythm.patienceMs * 2;
    for (const [stamp, at] of this.sent) if (at < limit) this.sent.delete(stamp);
  }
}
