import { status as Code, Metadata, type ServiceError } from "@grpc/grpc-js";
import any from "google-protobuf/google/protobuf/any_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import rpcStatus from "@pulumi/pulumi/proto/status_pb.js";
import { encode, type Properties, type SecretPaths } from "./values.js";
import { messageOf } from "../../agent/runtime/kube-error.js";

/** A resource that exists in part: the engine keeps it in state and calls Update next time. */
export class PartialFailure extends Error {
  constructor(
    message: string,
    readonly id: string,
    readonly properties: Properties,
    readonly inputs: Properties,
    readonly secrets: SecretPaths,
  ) {
    super(message);
    this.name = "PartialFailure";
  }
}

/** An answer with a gRPC status of its own. */
export class StatusError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = "StatusError";
  }
}

/** As gRPC takes errors. */
export class CallError extends Error implements Pick<ServiceError, "code" | "details" | "metadata"> {
  readonly details: string;

  constructor(
    readonly code: Code,
    message: string,
    readonly metadata: Metadata = new Metadata(),
  ) {
    super(message);
    this.name = "CallError";
    this.details = message;
  }

  /** By name: constructing is loaded when first needed, and may come with a copy of this module. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === "CallError";
  }
}

/** What gRPC is to answer for anything thrown: a message without a stack and without the secrets of the call. */
export function toCallError(error: unknown, redact: (text: string) => string): CallError {
  const message = redact(messageOf(error));
  const metadata = new Metadata();
  if (error instanceof PartialFailure) metadata.set("grpc-status-details-bin", details(error, message));
  const code = error instanceof StatusError ? error.code : Code.UNKNOWN;
  return new CallError(code, message, metadata);
}

function details(error: PartialFailure, message: string): Buffer {
  const failed = new provider.ErrorResourceInitFailed();
  failed.setId(error.id);
  failed.setProperties(encode(error.properties, error.secrets));
  failed.setInputs(encode(error.inputs, error.secrets));
  failed.setReasonsList([message]);
  const packed = new any.Any();
  packed.pack(failed.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const result = new rpcStatus.Status();
  result.setCode(Code.UNKNOWN);
  result.setMessage(message);
  result.addDetails(packed);
  return Buffer.from(result.serializeBinary());
}
