import { EventEmitter, once } from "node:events";
import { credentials, Server, ServerCredentials, type MethodDefinition, type ServiceError } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import engineGrpc from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import type engine from "@pulumi/pulumi/proto/engine_pb.js";
import grpcService from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import rpcStatus from "@pulumi/pulumi/proto/status_pb.js";
import type { Registry } from "../../../provider/server/registry.js";
import { serve } from "../../../provider/server/serve.js";

export const Methods = grpcService.ResourceProviderService;

interface Line {
  message: string;
  urn: string;
  ephemeral: boolean;
}

export interface FakeEngine {
  /** Where it listens for what the plugin says. */
  address: string;
  /** One call of a method of `Methods`. */
  call<Request, Response>(method: MethodDefinition<Request, Response>, request: Request): Promise<Response>;
  /** What the plugin said, in order. */
  lines: Line[];
  /** Resolves with the first that the plugin says from now on. */
  nextLine(): Promise<Line>;
  stop(): Promise<void>;
}

/** Serves a registry as the plugin does, with an engine that notes what it is told. */
export async function startFakeEngine(registry: Registry): Promise<FakeEngine> {
  const lines: Line[] = [];
  const heard = new EventEmitter<{ line: [Line] }>();
  const log = new Server();
  log.addService(engineGrpc.EngineService, {
    log: (call: { request: engine.LogRequest }, callback: (error: null, response: empty.Empty) => void) => {
      const { request } = call;
      const line = { message: request.getMessage(), urn: request.getUrn(), ephemeral: request.getEphemeral() };
      lines.push(line);
      heard.emit("line", line);
      callback(null, new empty.Empty());
    },
  });
  const enginePort = await new Promise<number>((resolve, reject) =>
    log.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
  const address = `127.0.0.1:${enginePort}`;
  const plugin = await serve({
    version: "0.0.1",
    engineAddress: address,
    load: () => Promise.resolve(registry),
  });
  const client = new grpcService.ResourceProviderClient(`127.0.0.1:${plugin.port}`, credentials.createInsecure());
  return {
    address,
    call: (method, request) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          (error, response) => {
            if (error) reject(error);
            else if (response) resolve(response);
          },
        );
      }),
    lines,
    nextLine: async () => ((await once(heard, "line")) as [Line])[0],
    stop: () => {
      client.close();
      plugin.stop();
      log.forceShutdown();
      return Promise.resolve();
    },
  };
}

export const toStruct = (value: Record<string, unknown>): struct.Struct =>
  struct.Struct.fromJavaScript(value as Record<string, struct.JavaScriptValue>);

/** What the plugin says in the details of a failure about a resource that exists in part. */
export function partialFailure(error: ServiceError): proto.ErrorResourceInitFailed | undefined {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  if (!bytes) return undefined;
  const [detail] = rpcStatus.Status.deserializeBinary(bytes as Buffer).getDetailsList();
  return detail && proto.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
}
