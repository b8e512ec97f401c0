import { status as Code, Metadata } from "@grpc/grpc-js";
import any from "google-protobuf/google/protobuf/any_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import type * as pulumi from "@pulumi/pulumi";
import * as logModule from "@pulumi/pulumi/log/index.js";
import * as outputModule from "@pulumi/pulumi/output.js";
import errors from "@pulumi/pulumi/proto/errors_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import rpcStatus from "@pulumi/pulumi/proto/status_pb.js";
import * as resourceModule from "@pulumi/pulumi/resource.js";
import * as runtimeConfig from "@pulumi/pulumi/runtime/config.js";
import * as rpc from "@pulumi/pulumi/runtime/rpc.js";
import * as settingsModule from "@pulumi/pulumi/runtime/settings.js";
import * as stateModule from "@pulumi/pulumi/runtime/state.js";
import type { AnyComponent, ComponentSdk } from "../framework/component.js";
import { FailureList } from "../framework/failures.js";
import { formatPath } from "../framework/property-path.js";
import { validateProperties } from "../framework/validate.js";
import { aliasesOf } from "./construct-aliases.js";
import { CallError } from "./errors.js";
import { trackConstruct } from "./pending-constructs.js";
import { decode } from "./values.js";

/** Parts of the SDK's runtime that its type declarations leave out. */
const settings = settingsModule as typeof settingsModule & {
  awaitFeatureSupport(): Promise<void>;
  waitForRPCs(): Promise<void>;
};
const state = stateModule as unknown as {
  withLocalStorage<T>(work: () => Promise<T>): Promise<T>;
  /** What the runtime keeps for the component being made; what the engine supports are switches of its own, "supportsSecrets" and such. */
  getStore(): Record<string, unknown> & { settings: { monitor?: unknown } };
};

const sdk: ComponentSdk = { ...outputModule, ...resourceModule, log: logModule };

/** Runs a component on the SDK's runtime, with settings, providers and dependencies as the request gives them. */
export function construct(
  component: AnyComponent,
  request: proto.ConstructRequest,
  engineAddress: string | undefined,
): Promise<proto.ConstructResponse> {
  checkInputs(component, request);
  return new Promise((resolve, reject) => {
    // The runtime reports a child's failure as an unhandled rejection, which must end it as well.
    const release = trackConstruct({ type: component.token, name: request.getName(), fail: reject });
    state
      .withLocalStorage(() => run(component, request, engineAddress ?? ""))
      .then(resolve, reject)
      .finally(release);
  });
}

/** The engine checks no component: what is known is checked here, before anything is made. */
function checkInputs(component: AnyComponent, request: proto.ConstructRequest): void {
  const failures = new FailureList();
  const inputs = validateProperties(component.inputs, decode(request.getInputs()).value, failures);
  component.check?.(inputs, failures);
  if (failures.count > 0) throw propertiesError(component.token, request.getName(), failures);
}

async function run(
  component: AnyComponent,
  request: proto.ConstructRequest,
  engineAddress: string,
): Promise<proto.ConstructResponse> {
  await configureRuntime(request, engineAddress);
  const result = await component.construct(sdk, request.getName(), readInputs(request), readOptions(request));
  const response = new proto.ConstructResponse();
  response.setUrn((await promiseOf(result.component.urn)) ?? "");
  await writeState(component.token, request.getName(), result.state, response);
  await settings.waitForRPCs();
  return response;
}

async function configureRuntime(request: proto.ConstructRequest, engineAddress: string): Promise<void> {
  settings.resetOptions(
    request.getProject(),
    request.getStack(),
    request.getParallel(),
    engineAddress,
    request.getMonitorendpoint(),
    request.getDryrun(),
    request.getOrganization(),
  );
  await shareMonitor(request.getMonitorendpoint());
  const config: Record<string, string> = {};
  request.getConfigMap().forEach((value: string, key: string) => (config[key] = value));
  runtimeConfig.setAllConfig(config, request.getConfigsecretkeysList());
}

interface Monitor {
  endpoint: string;
  client: unknown;
  supported: Promise<Record<string, unknown>>;
}

/** The latest run's. */
let shared: Monitor | undefined;

/** Components of one run share the connection to its monitor, and what that supports: the runtime would ask ten questions for each. */
async function shareMonitor(endpoint: string): Promise<void> {
  const store = state.getStore();
  if (shared?.endpoint !== endpoint) {
    shared = { endpoint, client: settings.getMonitor(), supported: askSupported() };
  }
  const monitor = shared;
  store.settings.monitor = monitor.client;
  try {
    Object.assign(store, await monitor.supported);
  } catch (error) {
    if (shared === monitor) shared = undefined;
    throw error;
  }
}

async function askSupported(): Promise<Record<string, unknown>> {
  await settings.awaitFeatureSupport();
  return Object.fromEntries(Object.entries(state.getStore()).filter(([key]) => key.startsWith("supports")));
}

/** Values with dependencies or secrets become Outputs; anything else stays as it is. */
function readInputs(request: proto.ConstructRequest): Record<string, pulumi.Input<unknown>> {
  const values = rpc.deserializeProperties(request.getInputs() ?? new struct.Struct()) as Record<string, unknown>;
  const dependencies = request.getInputdependenciesMap();
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const urns = dependencies.get(key)?.getUrnsList() ?? [];
      const isSecret = rpc.isRpcSecret(value);
      if (!isSecret && (urns.length === 0 || containsOutputs(value))) return [key, value];
      return [key, makeOutput(rpc.unwrapRpcSecret(value), urns, isSecret)];
    }),
  );
}

/** The SDK's own constructor of Outputs, whose parameters its declarations hide. An unknown value is recognised by itself. */
function makeOutput(value: unknown, urns: string[], isSecret: boolean): pulumi.Output<unknown> {
  const Output = outputModule.Output as unknown as new (
    resources: pulumi.Resource[],
    value: Promise<unknown>,
    isKnown: Promise<boolean>,
    isSecret: Promise<boolean>,
    allResources: Promise<pulumi.Resource[]>,
  ) => pulumi.Output<unknown>;
  const resources = urns.map((urn) => new resourceModule.DependencyResource(urn));
  return new Output(
    resources,
    Promise.resolve(value),
    Promise.resolve(true),
    Promise.resolve(isSecret),
    Promise.resolve([]),
  );
}

function containsOutputs(value: unknown): boolean {
  if (outputModule.Output.isInstance(value)) return true;
  if (resourceModule.Resource.isInstance(value)) return false;
  if (Array.isArray(value)) return value.some(containsOutputs);
  return typeof value === "object" && value !== null && Object.values(value).some(containsOutputs);
}

function readOptions(request: proto.ConstructRequest): pulumi.ComponentResourceOptions {
  const providers: Record<string, pulumi.ProviderResource> = {};
  request.getProvidersMap().forEach((reference: string, name: string) => {
    providers[name] = new resourceModule.DependencyProviderResource(reference);
  });
  const dependency = (urn: string) => new resourceModule.DependencyResource(urn);
  return {
    aliases: aliasesOf(request),
    customTimeouts: readTimeouts(request),
    deletedWith: request.getDeletedwith() ? dependency(request.getDeletedwith()) : undefined,
    dependsOn: request.getDependenciesList().map(dependency),
    ignoreChanges: request.getIgnorechangesList(),
    parent: request.getParent() ? dependency(request.getParent()) : undefined,
    protect: request.hasProtect() ? request.getProtect() : undefined,
    providers,
    replaceOnChanges: request.getReplaceonchangesList(),
    retainOnDelete: request.hasRetainondelete() ? request.getRetainondelete() : undefined,
  };
}

/** Those that were given: one that was not is an empty text. */
function readTimeouts(request: proto.ConstructRequest): pulumi.CustomTimeouts | undefined {
  const given = request.getCustomtimeouts();
  const timeouts = { create: given?.getCreate(), update: given?.getUpdate(), delete: given?.getDelete() };
  const told = Object.entries(timeouts).filter(([, timeout]) => timeout);
  return told.length > 0 ? Object.fromEntries(told) : undefined;
}

async function writeState(
  token: string,
  name: string,
  outputs: Record<string, pulumi.Input<unknown>>,
  response: proto.ConstructResponse,
): Promise<void> {
  const [values, dependencies] = await rpc.serializeResourceProperties(`construct(${token}, ${name})`, outputs);
  response.setState(struct.Struct.fromJavaScript(values as Record<string, struct.JavaScriptValue>));
  for (const [key, resources] of dependencies) {
    const urns = await Promise.all([...resources].map((resource) => promiseOf(resource.urn)));
    const list = new proto.ConstructResponse.PropertyDependencies();
    list.setUrnsList(urns.filter((urn) => urn !== undefined));
    response.getStatedependenciesMap().set(key, list);
  }
}

function promiseOf<T>(value: pulumi.Output<T>): Promise<T | undefined> {
  return (outputModule.output(value) as unknown as { promise(): Promise<T | undefined> }).promise();
}

/** Engines print each of these with its path, and no stack. */
function propertiesError(token: string, name: string, failures: FailureList): CallError {
  const detail = new errors.InputPropertiesError();
  for (const { path, reason } of failures.all) {
    const one = new errors.InputPropertiesError.PropertyError();
    one.setPropertyPath(formatPath(path));
    one.setReason(reason);
    detail.addErrors(one);
  }
  const packed = new any.Any();
  packed.pack(detail.serializeBinary(), "pulumirpc.InputPropertiesError");
  const message = `${token} ${name} is not valid: ${failures.toString()}`;
  const status = new rpcStatus.Status();
  status.setCode(Code.INVALID_ARGUMENT);
  status.setMessage(message);
  status.addDetails(packed);
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(status.serializeBinary()));
  return new CallError(Code.INVALID_ARGUMENT, message, metadata);
}
