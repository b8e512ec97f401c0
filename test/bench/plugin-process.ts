import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { credentials } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import grpcService from "@pulumi/pulumi/proto/provider_grpc_pb.js";

const START_DEADLINE_MS = 30_000;

/** The plugin as the engine starts it, but in our hands. */
export class PluginProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Resolves once it has told its port. @throws Error when it ends before, or within half a minute has not */
  static async start(executable: string): Promise<PluginProcess> {
    const child = spawn(executable, [], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit").then(() => {
      throw new Error(`${executable} ended before it told its port`);
    });
    ended.catch(() => undefined);
    const said = once(child.stdout, "data", { signal: AbortSignal.timeout(START_DEADLINE_MS) });
    const [chunk] = (await Promise.race([said, ended])) as [Buffer];
    return new PluginProcess(child, Number(chunk.toString().trim()));
  }

  /** Asks for what the engine asks for first. */
  async firstAnswer(): Promise<void> {
    const client = new grpcService.ResourceProviderClient(`127.0.0.1:${this.port}`, credentials.createInsecure());
    await new Promise<void>((resolve, reject) => {
      client.getPluginInfo(new empty.Empty(), (error: Error | null) => (error ? reject(error) : resolve()));
    });
    client.close();
  }

  /** The highest resident memory so far, in MiB, as the kernel counts it. */
  async highestMiB(): Promise<number> {
    const status = await readFile(`/proc/${this.child.pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  /** Ends it in order, as the engine does: it keeps its compiled code then. */
  async stop(): Promise<void> {
    const exit = once(this.child, "exit");
    this.child.kill("SIGINT");
    await exit;
  }
}
