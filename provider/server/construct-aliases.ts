import type * as pulumi from "@pulumi/pulumi";
import aliases from "@pulumi/pulumi/proto/alias_pb.js";
import grpcService from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import protobuf from "google-protobuf";

/**
 * Engines from 2026 on say under which names a component was known in a field of its own (`aliases` of ConstructRequest, a list of Alias), which the
 * SDK's message does not have. Those before say nothing: a renamed component is another one to them.
 */
const ALIASES_FIELD = 29;

const received = new WeakMap<proto.ConstructRequest, aliases.Alias[]>();

/** The engine's service, whose Construct keeps what the component was called before. */
export const providerService: typeof grpcService.ResourceProviderService = {
  ...grpcService.ResourceProviderService,
  construct: { ...grpcService.ResourceProviderService.construct, requestDeserialize: readConstructRequest },
};

/** What the component was called before, as the SDK takes it. */
export function aliasesOf(request: proto.ConstructRequest): (pulumi.URN | pulumi.Alias)[] {
  return [...request.getAliasesList(), ...(received.get(request) ?? []).map(toAlias)];
}

/** The message, with its aliases beside it. */
export function readConstructRequest(bytes: Uint8Array): proto.ConstructRequest {
  const request = proto.ConstructRequest.deserializeBinary(bytes);
  const found: aliases.Alias[] = [];
  const reader = new protobuf.BinaryReader(bytes);
  while (reader.nextField()) {
    if (reader.getFieldNumber() === ALIASES_FIELD) found.push(aliases.Alias.deserializeBinary(reader.readBytes()));
    else reader.skipField();
  }
  if (found.length > 0) received.set(request, found);
  return request;
}

function toAlias(alias: aliases.Alias): pulumi.URN | pulumi.Alias {
  const spec = alias.getSpec();
  if (!spec) return alias.getUrn();
  const { name, type, stack, project } = spec.toObject();
  const told = Object.entries({ name, type, stack, project }).filter(([, text]) => text !== "");
  const parent = spec.getNoparent()
    ? { parent: undefined }
    : spec.hasParenturn()
      ? { parent: spec.getParenturn() }
      : {};
  return { ...Object.fromEntries(told), ...parent };
}
