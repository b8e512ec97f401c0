import { Server, ServerCredentials, type handleUnaryCall } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import resourceGrpc from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resourceProto from "@pulumi/pulumi/proto/resource_pb.js";

/** An engine's side of a run, on which components register what they consist of. */
export class FakeMonitor {
  readonly registered: string[] = [];
  readonly timeouts = new Map<string, object | undefined>();
  readonly inputs = new Map<string, Record<string, unknown>>();
  questions = 0;
  private readonly server = new Server();
  private port = 0;

  get endpoint(): string {
    return `127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    const supportsFeature: handleUnaryCall<
      resourceProto.SupportsFeatureRequest,
      resourceProto.SupportsFeatureResponse
    > = (_call, callback) => {
      this.questions++;
      const response = new resourceProto.SupportsFeatureResponse();
      response.setHassupport(true);
      callback(null, response);
    };
    const registerResource: handleUnaryCall<
      resourceProto.RegisterResourceRequest,
      resourceProto.RegisterResourceResponse
    > = ({ request }, callback) => {
      this.registered.push(request.getName());
      this.inputs.set(request.getName(), request.getObject()?.toJavaScript() ?? {});
      const given = request.getCustomtimeouts();
      const limits = given && [given.getCreate(), given.getUpdate(), given.getDelete()];
      this.timeouts.set(request.getName(), limits);
      const response = new resourceProto.RegisterResourceResponse();
      response.setUrn(`urn:pulumi:run::run::${request.getType()}::${request.getName()}`);
      response.setObject(request.getObject());
      callback(null, response);
    };
    const registerResourceOutputs: handleUnaryCall<resourceProto.RegisterResourceOutputsRequest, empty.Empty> = (
      _call,
      callback,
    ) => callback(null, new empty.Empty());
    this.server.addService(resourceGrpc.ResourceMonitorService, {
      supportsFeature,
      registerResource,
      registerResourceOutputs,
    });
    this.port = await new Promise<number>((resolve, reject) =>
      this.server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
    return this;
  }

  stop(): void {
    this.server.forceShutdown();
  }
}
