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

interface Line {
  severity: Severity;
  message: string;
  urn: string;
  ephemeral: boolean;
}

/** Sends log and status lines to the engine, one at a time, in order. Of status lines that wait, only the newest per resource is sent. */
export class EngineLog {
  private client?: InstanceType<typeof engineGrpc.EngineClient>;
  private readonly waiting: Line[] = [];
  private sending?: Promise<void>;

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
    this.push({ severity, message, urn, ephemeral: false });
  }

  status(message: string, urn: string): void {
    const older = this.waiting.findIndex((line) => line.ephemeral && line.urn === urn);
    if (older >= 0) this.waiting.splice(older, 1);
    this.push({ severity: "info", message, urn, ephemeral: true });
  }

  /** Resolves once everything said so far has arrived (or was given up). */
  async flush(): Promise<void> {
    while (this.sending) await this.sending;
  }

  close(): void {
    this.client?.close();
  }

  private push(line: Line): void {
    if (!this.address) return;
    this.waiting.push(line);
    this.sending ??= this.sendAll().finally(() => (this.sending = undefined));
  }

  private async sendAll(): Promise<void> {
    // A turn of the loop, so that lines of one moment are joined.
    await new Promise((resolve) => setImmediate(resolve));
    for (let line = this.waiting.shift(); line; line = this.waiting.shift()) await this.send(line);
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
