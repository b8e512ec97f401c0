import { credentials } from "@grpc/grpc-js";
import engineGrpc from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import engine from "@pulumi/pulumi/proto/engine_pb.js";
import type { Severity } from "../framework/context.js";

const SEVERITIES = {
  debug: engine.LogSeverity.DEBUG,
  info: engine.LogSeverity.INFO,
  warning: engine.LogSeverity.WARNING,
  error: engine.LogSeverity.ERROR,
} as const;

/** An engine that is gone must not hold a call up. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Status lines are for eyes: what changes faster costs a call of the engine each time and is seen by nobody. */
const STATUS_INTERVAL_MS = 200;

interface Line {
  severity: Severity;
  message: string;
  urn: string;
  ephemeral: boolean;
}

/**
 * Sends log and status lines to the engine. Log lines go at once, one after the other; of a resource's status lines the newest, in rounds, and none once its
 * call has ended.
 */
export class EngineLog {
  private client?: InstanceType<typeof engineGrpc.EngineClient>;
  private readonly lines: Line[] = [];
  private readonly statuses = new Map<string, string>();
  private sending?: Promise<void>;
  private round?: NodeJS.Timeout;
  /** The status line on its way. */
  private onItsWay?: { urn: string; arrived: Promise<void> };

  constructor(private address?: string) {}

  /** The engine tells its address as an argument, in Handshake and in Attach: all the same. */
  attach(address: string): void {
    if (address === this.address) return;
    this.address = address;
    this.client?.close();
    this.client = undefined;
  }

  get engineAddress(): string | undefined {
    return this.address;
  }

  log(severity: Severity, message: string, urn: string): void {
    if (!this.address) return;
    this.lines.push({ severity, message, urn, ephemeral: false });
    this.sending ??= this.sendLines().finally(() => (this.sending = undefined));
  }

  status(message: string, urn: string): void {
    if (!this.address) return;
    this.statuses.set(urn, message);
    this.round ??= this.nextRound();
  }

  /** The call about this resource has ended: resolves once its lines have arrived or were given up. What is no longer so is not said. */
  async end(urn: string): Promise<void> {
    this.statuses.delete(urn);
    if (this.onItsWay?.urn === urn) await this.onItsWay.arrived;
    while (this.sending) await this.sending;
  }

  close(): void {
    clearTimeout(this.round);
    this.statuses.clear();
    this.client?.close();
  }

  private async sendLines(): Promise<void> {
    for (let line = this.lines.shift(); line; line = this.lines.shift()) await this.send(line);
  }

  private nextRound(): NodeJS.Timeout {
    return setTimeout(() => void this.sendStatuses(), STATUS_INTERVAL_MS).unref();
  }

  private async sendStatuses(): Promise<void> {
    // Those that come meanwhile are of the next round.
    for (const urn of [...this.statuses.keys()]) {
      const message = this.statuses.get(urn);
      if (message === undefined) continue;
      this.statuses.delete(urn);
      this.onItsWay = { urn, arrived: this.send({ severity: "info", message, urn, ephemeral: true }) };
      await this.onItsWay.arrived;
      this.onItsWay = undefined;
    }
    this.round = this.statuses.size > 0 ? this.nextRound() : undefined;
  }

  private send(line: Line): Promise<void> {
    this.client ??= new engineGrpc.EngineClient(this.address ?? "", credentials.createInsecure());
    const request = new engine.LogRequest();
    request.setSeverity(SEVERITIES[line.severity]);
    request.setMessage(line.message);
    request.setUrn(line.urn);
    request.setEphemeral(line.ephemeral);
    const client = this.client;
    return new Promise((resolve) => {
      const call = client.log(request, () => {
        clearTimeout(timer);
        resolve();
      });
      const timer = setTimeout(() => call.cancel(), ANSWER_TIMEOUT_MS);
    });
  }
}
