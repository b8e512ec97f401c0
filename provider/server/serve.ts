import { Server, ServerCredentials } from "@grpc/grpc-js";
import { providerService } from "./construct-aliases.js";
import { EngineLog } from "./engine.js";
import type { LoadRegistry } from "./registry.js";
import { ProviderService } from "./service.js";

/** As in Pulumi's SDKs: state may be large. */
const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

export interface RunningPlugin {
  port: number;
  /** Cancels calls in progress, waits for their answers, and ends. */
  drain(): Promise<void>;
  /** Ends at once. */
  stop(): void;
}

/** Serves the package on a free port of the loopback interface. */
export async function serve(options: {
  version: string;
  engineAddress?: string;
  load: LoadRegistry;
  loadAhead?: () => void;
}): Promise<RunningPlugin> {
  const { engineAddress, ...rest } = options;
  const service = new ProviderService({ ...rest, engine: new EngineLog(engineAddress) });
  const server = new Server({
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
  });
  server.addService(providerService, service.implementation());
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const stop = () => {
    service.close();
    server.forceShutdown();
  };
  return { port, stop, drain: () => service.drain().then(stop) };
}
