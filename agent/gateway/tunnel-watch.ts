import type { NftablesTable, Run } from "../net/index.js";
import type { ServerEndpoint } from "../api/index.js";
import { messageOf, type Logger } from "../runtime/index.js";
import type { GatewayArguments } from "./arguments.js";
import { ConnectionCheck, type ConnectionResult } from "./connection-check.js";
import type { ConnectionReporter } from "./connection-reporter.js";
import { explainSilence } from "./diagnosis.js";
import type { EndpointChooser } from "./endpoint-chooser.js";
import { Observer } from "./observe.js";
import { PathProbeResponder } from "./path-probe.js";
import { PathWatch } from "./path-watch.js";
import { SILENCE_MS, type PeerKeeper } from "./peer-keeper.js";
import type { TunnelState } from "./state.js";
import { wireguardStatus } from "./wireguard.js";

export interface TunnelWatchOptions {
  run: Run;
  args: GatewayArguments;
  tunnel: TunnelState;
  table: NftablesTable;
  endpoints?: EndpointChooser;
  peer: PeerKeeper;
  reporter: ConnectionReporter;
  /** Clients: told where the server says that it is reached. */
  onEndpoint?: (endpoint: ServerEndpoint) => void;
  logger: Logger;
}

/** Only the client can begin a session anew, so it looks more often. */
const CLIENT_INTERVAL_MS = 500;
/** How long a peer is silent before one asks why, and how often. */
const PUZZLED_MS = 3_000;
const PUZZLED_INTERVAL_MS = 3_000;

/** Watches the tunnel while this gateway serves: is the peer there, do full-size packets pass, and if not, why. Revives a client's dead session. */
export class TunnelWatch {
  private readonly check: ConnectionCheck;
  private readonly path: PathWatch;
  private readonly responder = new PathProbeResponder();
  private readonly observer: Observer;
  private wasConnected = false;
  /** Of which setup of the tunnel the keys are told with which the peer has been heard; milliseconds since the epoch. */
  private sessionOf?: number;
  private isReviving = false;
  private isLooking = false;
  private lookedAt = 0;
  private isPuzzled = false;

  constructor(private readonly options: TunnelWatchOptions) {
    const { run, args, tunnel, table, endpoints, reporter, logger } = options;
    this.check = new ConnectionCheck({
      remoteClusterID: args.remoteClusterID,
      peerAddress: tunnel.peerAddress,
      intervalMs: args.pingIntervalMs,
      lossThreshold: args.pingLossThreshold,
      ...(endpoints ? { connectedIntervalMs: Math.min(args.pingIntervalMs, CLIENT_INTERVAL_MS) } : {}),
      onResult: (result) => this.take(result),
      onEndpoint: options.onEndpoint,
      onSilence: { afterMs: endpoints ? SILENCE_MS : PUZZLED_MS, call: () => this.whenSilent() },
    });
    this.path = new PathWatch({
      run,
      peerAddress: tunnel.peerAddress,
      mtu: tunnel.mtu,
      onVerdict: (verdict) => reporter.reportPath(verdict),
      logger,
    });
    this.observer = new Observer(run, args, table, endpoints);
  }

  /** Answers the peer from now on. */
  async listen(): Promise<void> {
    await Promise.all([this.check.listen(), this.responder.listen()]);
  }

  start(): void {
    this.check.start();
  }

  /** Servers: tells the peer where this gateway is reached. */
  announce(endpoint: ServerEndpoint | undefined): void {
    this.check.announce(endpoint);
  }

  /** Asks right now, as the tunnel has been set up differently. */
  ask(): void {
    this.options.reporter.expectNews();
    this.check.pingAnew();
  }

  stop(): void {
    this.check.stop();
    this.path.stop();
    this.wasConnected = false;
    this.isPuzzled = false;
  }

  close(): void {
    this.stop();
    this.check.close();
    this.responder.close();
  }

  private take(result: ConnectionResult): void {
    this.options.reporter.report(result);
    if (result.connected) this.isPuzzled = false;
    if (result.connected && this.sessionOf !== this.options.peer.configuredAt) void this.identifySession();
    if (result.connected === this.wasConnected) return;
    this.wasConnected = result.connected;
    if (result.connected) this.path.restart();
    else this.path.stop();
  }

  /** Tells with which keys the peer has answered: WireGuard's own word, unless it is being set up anew right now. */
  private async identifySession(): Promise<void> {
    const { run, tunnel, peer, reporter, logger } = this.options;
    const { configuredAt } = peer;
    this.sessionOf = configuredAt;
    try {
      const { publicKey, peers } = await wireguardStatus(run, tunnel.device);
      const [there] = peers;
      if (there && peer.configuredAt === configuredAt) reporter.reportSession(publicKey, there.publicKey);
      // A session that is just being restarted has no peer for a moment: the next answer tells.
      else this.sessionOf = undefined;
    } catch (error) {
      this.sessionOf = undefined;
      logger.warn({ reason: messageOf(error) }, "keys of the session not read");
    }
  }

  private whenSilent(): void {
    if (this.options.endpoints) void this.revive();
    if (this.check.silenceMs > PUZZLED_MS && Date.now() - this.lookedAt > PUZZLED_INTERVAL_MS) void this.look();
  }

  private async revive(): Promise<void> {
    if (this.isReviving) return;
    this.isReviving = true;
    const { peer, endpoints, logger } = this.options;
    try {
      if (await peer.revive(this.check.silenceMs)) {
        logger.debug({ endpoint: endpoints?.endpoint }, "session restarted");
        this.check.ping();
      }
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, "session not restarted");
    } finally {
      this.isReviving = false;
    }
  }

  /** The first look at a peer that has fallen silent only tells from when on to count. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    this.lookedAt = Date.now();
    const { peer, reporter, logger } = this.options;
    try {
      const seen = await this.observer.look(peer.configuredAt);
      if (this.isPuzzled) reporter.reportSilence(explainSilence(seen));
      this.isPuzzled = this.check.silenceMs > PUZZLED_MS;
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, "silence not explained");
    } finally {
      this.isLooking = false;
    }
  }
}
