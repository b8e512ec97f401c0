import type { handleUnaryCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import type { ClusterArgs } from "../framework/cluster-args.js";
import { compareProperties } from "../framework/compare.js";
import type { FailureList } from "../framework/failures.js";
import { clusterFieldsOf } from "../framework/field-info.js";
import { formatPath } from "../framework/property-path.js";
import { providerConfig, type ProviderConfig } from "../framework/provider-config.js";
import type { AnyResource, Timeouts } from "../framework/resource.js";
import { hasUnknown } from "../framework/unknown.js";
import { secretPathsOf } from "../framework/validate.js";
import { ClusterClients } from "../kube/clients.js";
import { Call, Calls } from "./calls.js";
import { checkResource, type Probe } from "./check.js";
import { checkConfiguration, readConfiguration } from "./configuration.js";
import {
  createResource,
  deleteResource,
  inputsOf,
  outputsOf,
  previewState,
  readResource,
  secretsOf,
  stateOf,
  updateResource,
  type State,
} from "./crud.js";
import { diffResource, type DetailedChange } from "./diff.js";
import type { EngineLog } from "./engine.js";
import { CallError, PartialFailure, toCallError } from "./errors.js";
import { invokeFunction } from "./invoke.js";
import { failParentOf } from "./pending-constructs.js";
import { KEPT_AS_REPLACEMENT, keptForAnother, Replacements, type Route } from "./replacements.js";
import { findComponent, findFunction, findResource, parseUrn, type LoadRegistry } from "./registry.js";
import { settleDelete, settleRead, settleUpdate } from "./unreachable.js";
import { upgradeState } from "./upgrade.js";
import { decode, encode, SecretPaths, type Decoded, type Properties } from "./values.js";

const DEFAULT_SECONDS: Required<Timeouts> = { create: 600, update: 600, delete: 600, read: 120 };
const CHECK_SECONDS = 60;
const FUNCTION_SECONDS = 30;

export interface ServiceOptions {
  version: string;
  engine: EngineLog;
  load: LoadRegistry;
  /** Reads what later calls need, once the first has been answered. */
  loadAhead?: () => void;
}

/** What the first answer needs to be on its way. */
const FIRST_ANSWER_MS = 5;

/** What the answer about a component needs to arrive before that about its child. */
const PARENT_FIRST_MS = 50;

type Handler<Request, Response> = (request: Request) => Promise<Response>;

/** pulumirpc.ResourceProvider: reads each request, has the work done, writes the answer. What is missing here is answered UNIMPLEMENTED. */
export class ProviderService {
  private config: ProviderConfig = readConfiguration({});
  private readonly calls = new Calls();
  private readonly clients = new ClusterClients();
  private readonly replacements = new Replacements();
  private isLoading = false;
  private readonly probe: Probe = (client, signal) => this.clients.probe(client, signal);

  constructor(private readonly options: ServiceOptions) {}

  implementation(): UntypedServiceImplementation {
    return {
      handshake: this.unary((request: proto.ProviderHandshakeRequest) => this.handshake(request)),
      attach: this.unary((request: plugin.PluginAttach) => this.attach(request)),
      getPluginInfo: this.unary(() => this.getPluginInfo()),
      getSchema: this.unary(() => this.getSchema()),
      checkConfig: this.unary((request: proto.CheckRequest) => this.checkConfig(request)),
      diffConfig: this.unary((request: proto.DiffRequest) => this.diffConfig(request)),
      configure: this.unary((request: proto.ConfigureRequest) => this.configure(request)),
      check: this.unary((request: proto.CheckRequest) => this.check(request)),
      diff: this.unary((request: proto.DiffRequest) => this.diff(request)),
      create: this.unary((request: proto.CreateRequest) => this.create(request)),
      read: this.unary((request: proto.ReadRequest) => this.read(request)),
      update: this.unary((request: proto.UpdateRequest) => this.update(request)),
      delete: this.unary((request: proto.DeleteRequest) => this.delete(request)),
      invoke: this.unary((request: proto.InvokeRequest) => this.invoke(request)),
      construct: this.unary((request: proto.ConstructRequest) => this.construct(request)),
      cancel: this.unary(() => this.cancel()),
    };
  }

  /** Cancels what is in progress and resolves once that has been answered. */
  async drain(): Promise<void> {
    this.calls.cancelAll();
    await this.calls.idle();
    // A turn of the loop, so that the answers are written.
    await new Promise((resolve) => setImmediate(resolve));
  }

  close(): void {
    this.calls.cancelAll();
    this.clients.close();
    this.options.engine.close();
  }

  /** Answers errors that no handler has already put into words with their message alone. */
  private unary<Request, Response>(handler: Handler<Request, Response>): handleUnaryCall<Request, Response> {
    return (call, callback) => {
      this.loadAheadOnce();
      handler(call.request).then(
        (response) => callback(null, response),
        (error: unknown) => callback(error instanceof CallError ? error : toCallError(error, (text) => text)),
      );
    };
  }

  private loadAheadOnce(): void {
    const { loadAhead } = this.options;
    if (this.isLoading || !loadAhead) return;
    this.isLoading = true;
    setTimeout(loadAhead, FIRST_ANSWER_MS);
  }

  private handshake(request: proto.ProviderHandshakeRequest): Promise<proto.ProviderHandshakeResponse> {
    this.calls.newRun();
    if (request.getEngineAddress()) this.options.engine.attach(request.getEngineAddress());
    const response = new proto.ProviderHandshakeResponse();
    response.setAcceptSecrets(true);
    response.setAcceptResources(true);
    response.setAcceptOutputs(true);
    return Promise.resolve(response);
  }

  private attach(request: plugin.PluginAttach): Promise<empty.Empty> {
    this.calls.newRun();
    this.options.engine.attach(request.getAddress());
    return Promise.resolve(new empty.Empty());
  }

  private getPluginInfo(): Promise<plugin.PluginInfo> {
    const info = new plugin.PluginInfo();
    info.setVersion(this.options.version);
    return Promise.resolve(info);
  }

  private async getSchema(): Promise<proto.GetSchemaResponse> {
    const [{ packageSchema }, registry] = await Promise.all([
      import("../schema/package-schema.js"),
      this.options.load(),
    ]);
    const response = new proto.GetSchemaResponse();
    response.setSchema(JSON.stringify(packageSchema(registry, this.options.version)));
    return response;
  }

  private checkConfig(request: proto.CheckRequest): Promise<proto.CheckResponse> {
    const news = decode(request.getNews());
    const { config, failures } = checkConfiguration(news.value);
    const secrets = new SecretPaths([...news.secrets, ...secretPathsOf(providerConfig, config)]);
    const response = new proto.CheckResponse();
    response.setInputs(encode(news.value, secrets));
    response.setFailuresList(checkFailures(failures));
    return Promise.resolve(response);
  }

  /** Another way to reach the clusters never replaces what is in them. */
  private diffConfig(request: proto.DiffRequest): Promise<proto.DiffResponse> {
    const olds = decode(request.getOldInputs() ?? request.getOlds()).value;
    const changes = compareProperties(providerConfig, olds, decode(request.getNews()).value);
    return Promise.resolve(
      diffResponse(
        changes.map((change) => ({ ...change, replace: false, of: "inputs" })),
        false,
      ),
    );
  }

  private configure(request: proto.ConfigureRequest): Promise<proto.ConfigureResponse> {
    this.replacements.newRun();
    this.config = readConfiguration(request.hasArgs() ? decode(request.getArgs()).value : variables(request));
    const response = new proto.ConfigureResponse();
    response.setAcceptsecrets(true);
    response.setAcceptresources(true);
    response.setAcceptoutputs(true);
    response.setSupportspreview(true);
    return Promise.resolve(response);
  }

  private check(request: proto.CheckRequest): Promise<proto.CheckResponse> {
    const news = decode(request.getNews());
    const olds = previousInputs(request);
    return this.resourceCall(request.getUrn(), CHECK_SECONDS, [news, olds], async (definition, call) => {
      const former = this.replacements.formerInputs(request.getUrn(), olds?.value);
      const inputsBefore = { olds: olds?.value, former };
      const { inputs, failures, isKept } = await checkResource(definition, call, news.value, inputsBefore, this.probe);
      const valid = failures.count === 0 ? inputs : news.value;
      const given = isKept && olds ? olds.secrets.union(news.secrets) : news.secrets;
      const response = new proto.CheckResponse();
      response.setInputs(encode(valid, secretsOf(definition, valid, given)));
      response.setFailuresList(checkFailures(failures, call.redaction.apply));
      if (failures.count > 0) await this.endParent(request.getUrn());
      return response;
    });
  }

  private diff(request: proto.DiffRequest): Promise<proto.DiffResponse> {
    const state = decode(request.getOlds());
    const news = decode(request.getNews());
    const oldInputs = request.hasOldInputs() ? decode(request.getOldInputs()) : undefined;
    return this.resourceCall(request.getUrn(), CHECK_SECONDS, [state, news, oldInputs], async (definition, call) => {
      const old = upgradeState(definition, state, oldInputs);
      const subject = { urn: request.getUrn(), type: definition.token, id: request.getId() };
      this.replacements.kept(subject, await routeOf(definition, call, news.value));
      const difference = diffResource(definition, {
        id: request.getId(),
        oldInputs: old.inputs?.value ?? inputsOf(definition, old.state.value),
        inputs: news.value,
        outputs: outputsOf(definition, old.state.value),
        ignoreChanges: request.getIgnorechangesList(),
      });
      return diffResponse(difference.changes, difference.deleteBeforeReplace);
    });
  }

  private create(request: proto.CreateRequest): Promise<proto.CreateResponse> {
    const inputs = decode(request.getProperties());
    const seconds = (definition: AnyResource) => request.getTimeout() || secondsFor(definition, "create");
    return this.resourceCall(request.getUrn(), seconds, [inputs], async (definition, call) => {
      const state = request.getPreview()
        ? await previewState(definition, call, inputs, undefined)
        : await this.createNoted(definition, call, inputs);
      const response = new proto.CreateResponse();
      response.setId(state.id);
      response.setProperties(encode(state.properties, state.secrets));
      return response;
    });
  }

  private async createNoted(definition: AnyResource, call: Call, inputs: Decoded): Promise<State> {
    const subject = (id: string) => ({ urn: call.urn, type: definition.token, id });
    try {
      const state = await createResource(definition, call, inputs);
      this.replacements.made(subject(state.id), await routeOf(definition, call, inputs.value));
      return state;
    } catch (error) {
      // With --continue-on-error deletions follow all the same.
      if (error instanceof PartialFailure)
        this.replacements.kept(subject(error.id), await routeOf(definition, call, inputs.value));
      throw error;
    }
  }

  private update(request: proto.UpdateRequest): Promise<proto.UpdateResponse> {
    const state = decode(request.getOlds());
    const inputs = decode(request.getNews());
    const before = request.hasOldInputs() ? decode(request.getOldInputs()) : undefined;
    const seconds = (definition: AnyResource) => request.getTimeout() || secondsFor(definition, "update");
    return this.resourceCall(request.getUrn(), seconds, [state, inputs, before], async (definition, call) => {
      const stored = upgradeState(definition, state, before);
      const old = {
        id: request.getId(),
        oldInputs: stored.inputs?.value ?? inputsOf(definition, stored.state.value),
        outputs: outputsOf(definition, stored.state.value),
      };
      const result = request.getPreview()
        ? await previewState(definition, call, inputs, old)
        : await updateResource(definition, call, inputs, old).catch((error: unknown) => {
            settleUpdate(call, inputs.value, old.oldInputs, error);
            return stateOf(definition, inputs, old.outputs);
          });
      const response = new proto.UpdateResponse();
      response.setProperties(encode(result.properties, result.secrets));
      return response;
    });
  }

  private read(request: proto.ReadRequest): Promise<proto.ReadResponse> {
    const stored = decode(request.getProperties());
    const given = decode(request.getInputs());
    const isImport = Object.keys(stored.value).length === 0 && Object.keys(given.value).length === 0;
    const seconds = (definition: AnyResource) => secondsFor(definition, "read");
    return this.resourceCall(request.getUrn(), seconds, [stored, given], async (definition, call) => {
      const { state: properties, inputs } = upgradeState(definition, stored, given);
      const response = new proto.ReadResponse();
      const reading = readResource(definition, call, request.getId(), properties, isImport ? undefined : inputs);
      const found = await reading.catch(async (error: unknown) => {
        if (isImport) throw error;
        const settled = await settleRead(definition, call, inputs.value, error, this.probe);
        if (settled === "drop") return undefined;
        const secrets = secretsOf(definition, properties.value, properties.secrets.union(inputs.secrets));
        return { id: request.getId(), properties: properties.value, inputs: inputs.value, secrets };
      });
      // An empty ID says that it is gone.
      if (!found) return response;
      response.setId(found.id);
      response.setProperties(encode(found.properties, found.secrets));
      response.setInputs(encode(found.inputs, found.secrets));
      return response;
    });
  }

  private delete(request: proto.DeleteRequest): Promise<empty.Empty> {
    const state = decode(request.getProperties());
    const inputs = request.hasOldInputs() ? decode(request.getOldInputs()) : undefined;
    const seconds = (definition: AnyResource) => request.getTimeout() || secondsFor(definition, "delete");
    return this.resourceCall(request.getUrn(), seconds, [state, inputs], async (definition, call) => {
      const stored = upgradeState(definition, state, inputs);
      const given = stored.inputs?.value ?? inputsOf(definition, stored.state.value);
      const subject = { urn: request.getUrn(), type: definition.token, id: request.getId() };
      const holder = await this.replacements.takeHolder(subject, () => routeOf(definition, call, given));
      if (holder !== undefined) {
        call.log("warning", holder === subject.urn ? KEPT_AS_REPLACEMENT : keptForAnother(parseUrn(holder).name));
        return new empty.Empty();
      }
      await deleteResource(definition, call, request.getId(), given, stored.state.value).catch((error: unknown) =>
        settleDelete(definition, call, given, error, this.probe),
      );
      return new empty.Empty();
    });
  }

  private async invoke(request: proto.InvokeRequest): Promise<proto.InvokeResponse> {
    const token = request.getTok();
    const args = decode(request.getArgs());
    const definition = findFunction(await this.options.load(), token);
    const call = this.newCall("", token, definition.timeout ?? FUNCTION_SECONDS, [args]);
    return this.answer(call, async () => {
      const { result, secrets, failures } = await invokeFunction(definition, call, args.value);
      const response = new proto.InvokeResponse();
      response.setReturn(encode(result, secrets));
      response.setFailuresList(checkFailures(failures, call.redaction.apply));
      return response;
    });
  }

  private async construct(request: proto.ConstructRequest): Promise<proto.ConstructResponse> {
    const component = findComponent(await this.options.load(), request.getType());
    // The SDK's runtime is large: it is read only by those who use components.
    const { construct } = await import("./construct.js");
    return construct(component, request, this.options.engine.engineAddress);
  }

  private cancel(): Promise<empty.Empty> {
    this.calls.cancelAll();
    return Promise.resolve(new empty.Empty());
  }

  private async resourceCall<Response>(
    urn: string,
    seconds: number | ((definition: AnyResource) => number),
    given: (Decoded | undefined)[],
    work: (definition: AnyResource, call: Call) => Promise<Response>,
  ): Promise<Response> {
    const { type, name } = parseUrn(urn);
    const definition = findResource(await this.options.load(), type);
    const call = this.newCall(urn, name, typeof seconds === "number" ? seconds : seconds(definition), given);
    for (const one of given)
      if (one) call.redaction.addAt(one.value, secretsOf(definition, one.value, new SecretPaths()));
    return this.answer(call, () => work(definition, call)).catch(async (error: unknown) => {
      await this.endParent(urn);
      throw error;
    });
  }

  /** Lets the component of a child that cannot be made fail first, with its answer on its way. */
  private async endParent(urn: string): Promise<void> {
    if (failParentOf(urn)) await new Promise((resolve) => setTimeout(resolve, PARENT_FIRST_MS));
  }

  private newCall(urn: string, name: string, timeoutSeconds: number, given: (Decoded | undefined)[]): Call {
    const config = this.config;
    const call = new Call({ urn, name, timeoutSeconds }, config, this.options.engine, (cluster) =>
      this.clients.get(cluster, config),
    );
    for (const one of given) if (one) call.redaction.addAt(one.value, one.secrets);
    return call;
  }

  /** Lines said during the call arrive before its answer, or not at all. */
  private async answer<Response>(call: Call, work: () => Promise<Response>): Promise<Response> {
    try {
      return await this.calls.track(call, work);
    } catch (error) {
      throw toCallError(error, call.redaction.apply);
    } finally {
      const said = this.options.engine.end(call.urn);
      if (!call.signal.aborted) await said;
    }
  }
}

/** Engines send no inputs, or empty ones, for what is not in the state yet. */
function previousInputs(request: proto.CheckRequest): Decoded | undefined {
  const olds = request.hasOlds() ? decode(request.getOlds()) : undefined;
  return olds && Object.keys(olds.value).length > 0 ? olds : undefined;
}

/** The ways to a resource's clusters, which nobody is asked for; undefined where a kubeconfig is unknown as yet or cannot be read. */
async function routeOf(definition: AnyResource, call: Call, inputs: Properties): Promise<Route> {
  const clusters = clusterFieldsOf(definition.inputs).map((name) => inputs[name] as ClusterArgs | undefined);
  if (hasUnknown(clusters)) return undefined;
  const found = await Promise.all(clusters.map((cluster) => call.client(cluster))).catch(() => undefined);
  return found && JSON.stringify(found.map(({ transport }) => transport.route));
}

function secondsFor(definition: AnyResource, operation: keyof Timeouts): number {
  return definition.timeouts?.[operation] ?? DEFAULT_SECONDS[operation];
}

function variables(request: proto.ConfigureRequest): Record<string, unknown> {
  const entries: [string, string][] = [];
  // Keys come as "liqo:config:kubeconfig".
  request
    .getVariablesMap()
    .forEach((value: string, key: string) => entries.push([key.slice(key.lastIndexOf(":") + 1), value]));
  return Object.fromEntries(entries);
}

function checkFailures(failures: FailureList, redact: (text: string) => string = (text) => text): proto.CheckFailure[] {
  return failures.all.map(({ path, reason }) => {
    const failure = new proto.CheckFailure();
    failure.setProperty(formatPath(path));
    failure.setReason(redact(reason));
    return failure;
  });
}

const KINDS = {
  add: [proto.PropertyDiff.Kind.ADD, proto.PropertyDiff.Kind.ADD_REPLACE],
  delete: [proto.PropertyDiff.Kind.DELETE, proto.PropertyDiff.Kind.DELETE_REPLACE],
  update: [proto.PropertyDiff.Kind.UPDATE, proto.PropertyDiff.Kind.UPDATE_REPLACE],
} as const;

function diffResponse(changes: DetailedChange[], deleteBeforeReplace: boolean): proto.DiffResponse {
  const response = new proto.DiffResponse();
  const { DIFF_SOME, DIFF_NONE } = proto.DiffResponse.DiffChanges;
  response.setChanges(changes.length > 0 ? DIFF_SOME : DIFF_NONE);
  response.setHasdetaileddiff(true);
  for (const { path, kind, replace, of } of changes) {
    const detail = new proto.PropertyDiff();
    detail.setKind(KINDS[kind][replace ? 1 : 0]);
    detail.setInputdiff(of === "inputs");
    response.getDetaileddiffMap().set(formatPath(path), detail);
  }
  const topLevel = (some: DetailedChange[]) => [...new Set(some.map(({ path }) => String(path[0])))];
  const replacing = changes.filter((change) => change.replace);
  response.setDiffsList(topLevel(changes));
  response.setReplacesList(topLevel(replacing));
  response.setDeletebeforereplace(replacing.length > 0 && deleteBeforeReplace);
  return response;
}
