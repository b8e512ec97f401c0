import {
  ConnectionResource,
  ConnectionValue,
  FullSizePackets,
  GatewayClientResource,
  GatewayServerResource,
  Labels,
  WgGatewayClientResource,
  WgGatewayServerResource,
  gatewayResourceName,
  type Connection,
} from "../api/index.js";
import {
  Backoff,
  isAlreadyExists,
  isNotFound,
  kubeTime,
  messageOf,
  type KubeClient,
  type Logger,
} from "../runtime/index.js";
import type { GatewayArguments } from "./arguments.js";
import type { ConnectionResult } from "./connection-check.js";
import { FIELD_MANAGER } from "./constants.js";
import { explainPath } from "./diagnosis.js";
import type { PathVerdict } from "./path-probe.js";
import { formatLatency } from "./ping-message.js";
import type { Implementation } from "./tunnel-device.js";

const PATH_STATES: Record<PathVerdict["state"], string> = {
  fits: FullSizePackets.pass,
  fragmented: FullSizePackets.fragmented,
  lost: FullSizePackets.lost,
  unknown: FullSizePackets.unknown,
};

/** When what could not be written is tried again, if nothing new is to be said before. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [1_000, 30_000] as const;

/** Makes the gateway's Connection and keeps its status (network specification, §6, §7). */
export class ConnectionReporter {
  private value: string = ConnectionValue.connecting;
  private latency = 0;
  private implementation?: Implementation;
  private silence?: string;
  /** Why there is nobody to connect to. */
  private obstacle?: string;
  private path?: PathVerdict;
  private session?: { publicKey: string; peerPublicKey: string };
  /** Whether the status is this process's word, no longer that of the one before it. */
  private hasSpoken = false;
  /** What the status said last, but for the latency. */
  private said?: string;
  private writtenAt = 0;
  private writing = false;
  private again = false;
  private retry?: NodeJS.Timeout;
  private readonly backoff = new Backoff(FIRST_RETRY_MS, LAST_RETRY_MS);

  constructor(
    private readonly client: KubeClient,
    private readonly args: GatewayArguments,
    private readonly current: () => Connection | undefined,
    private readonly observe: (connection: Connection) => void,
    private readonly logger: Logger,
    private readonly endpoint: () => string | undefined = () => undefined,
  ) {}

  /** What makes the tunnel, once it is there. */
  get tunnel(): Implementation | undefined {
    return this.implementation;
  }

  /** What the check has found last; the latency in milliseconds. */
  get result(): ConnectionResult {
    return { connected: this.value === ConnectionValue.connected, latency: this.latency };
  }

  /** Takes back what a former process has said of a tunnel that ended with it. */
  async begin(): Promise<void> {
    if (this.current()) await this.speak();
  }

  /** Makes the Connection if there is none; called once the peer is configured. */
  async ensure(implementation: Implementation): Promise<void> {
    this.implementation = implementation;
    if (this.hasSpoken && this.current() && this.obstacle === undefined) return;
    this.obstacle = undefined;
    if (!this.current()) await this.create();
    await this.speak();
  }

  /**
   * There is nobody to connect to, for the reason given: what was said of the tunnel before holds no more. Unless the peer is known, no Connection is
   * made for that.
   */
  async stand({ reason, isPeerKnown }: { reason: string; isPeerKnown: boolean }): Promise<void> {
    if (this.hasSpoken && this.obstacle === reason) return;
    if (!this.current()) {
      if (!isPeerKnown) return;
      await this.create();
    }
    this.obstacle = reason;
    this.forgetTunnel();
    await this.speak();
  }

  /** Another replica serves: the status is its word from now on. */
  yield(): void {
    clearTimeout(this.retry);
    this.again = false;
    this.hasSpoken = false;
    this.said = undefined;
    this.obstacle = undefined;
    this.forgetTunnel();
  }

  /** Takes a result of the check; the status is written when its value changes, and now and then for the latency. */
  report({ connected, latency }: ConnectionResult): void {
    const value = connected ? ConnectionValue.connected : ConnectionValue.error;
    const isNews = value !== this.value || (connected && this.silence !== undefined);
    this.value = value;
    this.latency = latency;
    if (connected) this.silence = undefined;
    if (isNews) this.logger.info({ value, latency: formatLatency(latency) }, "connection");
    if (isNews || (connected && Date.now() - this.writtenAt > this.args.pingStatusIntervalMs)) void this.write();
  }

  /** The tunnel has been set up differently: the next result is news, whatever it is. */
  expectNews(): void {
    this.writtenAt = 0;
  }

  /** Takes the public keys with which the peer has been heard, base64. */
  reportSession(publicKey: string, peerPublicKey: string): void {
    if (this.session?.publicKey === publicKey && this.session.peerPublicKey === peerPublicKey) return;
    this.session = { publicKey, peerPublicKey };
    void this.write();
  }

  /** Takes an explanation of why the peer is not heard. */
  reportSilence(message: string): void {
    if (message === this.silence) return;
    this.silence = message;
    this.logger.warn({ reason: message }, "no answer from the other gateway");
    void this.write();
  }

  /** Takes what is known of full-size packets. */
  reportPath(path: PathVerdict): void {
    if (path.state === this.path?.state && path.largest === this.path.largest) return;
    this.path = path;
    const message = explainPath(path, this.args.mtu);
    if (message) this.logger.warn({ reason: message }, "full-size packets");
    void this.write();
  }

  private get message(): string | undefined {
    const reason = this.obstacle ?? this.silence;
    if (reason !== undefined) return reason;
    return this.path && explainPath(this.path, this.args.mtu);
  }

  private async create(): Promise<void> {
    try {
      const connection = connectionOf(this.args);
      this.said = undefined;
      this.observe(await this.client.create(ConnectionResource, connection, { fieldManager: FIELD_MANAGER }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  private async speak(): Promise<void> {
    this.hasSpoken = true;
    await this.write();
  }

  private forgetTunnel(): void {
    this.value = ConnectionValue.connecting;
    this.latency = 0;
    this.silence = undefined;
    this.path = undefined;
    this.session = undefined;
  }

  /** One write at a time; what comes meanwhile is written after it. */
  private async write(): Promise<void> {
    if (this.writing) {
      this.again = true;
      return;
    }
    this.writing = true;
    clearTimeout(this.retry);
    try {
      do {
        this.again = false;
        await this.patch();
      } while (this.again);
      this.backoff.reset();
    } catch (error) {
      this.writtenAt = 0;
      // Without a Connection there is nothing to tell yet.
      if (!isNotFound(error)) this.tryAgain(error);
    } finally {
      this.writing = false;
    }
  }

  /** A tunnel that is lost has no further result by which a lost write would be made good. */
  private tryAgain(error: unknown): void {
    this.logger.warn({ reason: messageOf(error) }, "connection status not written");
    if (this.hasSpoken) this.retry = setTimeout(() => void this.write(), this.backoff.next()).unref();
  }

  private async patch(): Promise<void> {
    const { name, namespace } = this.args;
    this.writtenAt = Date.now();
    const timestamp = this.value === ConnectionValue.connected ? kubeTime() : null;
    const status = {
      value: this.value,
      latency: { value: formatLatency(this.latency), timestamp },
      message: this.message ?? null,
      implementation: this.implementation ?? null,
      endpoint: this.endpoint() ?? null,
      mtu: this.args.mtu,
      fullSizePackets: this.path ? PATH_STATES[this.path.state] : null,
      ...this.session,
    };
    const id = { name: gatewayResourceName(name), namespace };
    const saying = JSON.stringify({ ...status, latency: undefined });
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, isHeartbeat: saying === this.said } as const;
    this.observe(await this.client.mergePatch(ConnectionResource, id, { status }, options));
    this.said = saying;
  }
}

function connectionOf(args: GatewayArguments): Connection {
  const { name, namespace, gatewayUID, mode, remoteClusterID } = args;
  const isServer = mode === "server";
  const gateway = isServer ? GatewayServerResource : GatewayClientResource;
  const workload = isServer ? WgGatewayServerResource : WgGatewayClientResource;
  return ConnectionResource.build({
    metadata: {
      name: gatewayResourceName(name),
      namespace,
      labels: { [Labels.remoteClusterID]: remoteClusterID },
      ownerReferences: [
        { apiVersion: gateway.apiVersion, kind: gateway.kind, name, uid: gatewayUID, controller: true },
      ],
    },
    spec: {
      type: isServer ? "Server" : "Client",
      gatewayRef: { apiVersion: workload.apiVersion, kind: workload.kind, name, namespace, uid: gatewayUID },
    },
  });
}
