import type { ServiceError } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { registry } from "../../../../provider/resources/index.js";
import {
  Methods,
  partialFailure,
  startFakeEngine,
  toStruct,
  type FakeEngine,
} from "../../../unit/provider/fake-engine.js";

type Properties = Record<string, unknown>;

/** A resource as the engine keeps it. */
export interface Kept {
  type: string;
  id: string;
  inputs: Properties;
  state: Properties;
}

export class CheckError extends Error {
  constructor(readonly failures: { property: string; reason: string }[]) {
    super(failures.map(({ property, reason }) => `${property}: ${reason}`).join("; "));
  }
}

/** The plugin with all its resources, asked as an engine does: check, diff, create, read, update, delete. Values are as they travel: secrets stay marked. */
export class Plugin {
  private settings: Properties = {};
  /** What the program calls its resources. */
  name = "subject";

  private constructor(readonly engine: FakeEngine) {}

  static async start(settings: Properties = {}): Promise<Plugin> {
    const plugin = new Plugin(await startFakeEngine(registry));
    await plugin.configure(settings);
    return plugin;
  }

  async configure(settings: Properties): Promise<void> {
    this.settings = settings;
    const request = new proto.ConfigureRequest();
    request.setArgs(toStruct(settings));
    await this.engine.call(Methods.configure, request);
  }

  /** @throws CheckError */
  async check(type: string, news: Properties, olds?: Properties): Promise<Properties> {
    const request = new proto.CheckRequest();
    request.setUrn(urn(type, this.name));
    request.setNews(toStruct(news));
    if (olds) request.setOlds(toStruct(olds));
    const response = await this.engine.call(Methods.check, request);
    const failures = response
      .getFailuresList()
      .map((one) => ({ property: one.getProperty(), reason: one.getReason() }));
    if (failures.length > 0) throw new CheckError(failures);
    return response.getInputs()?.toJavaScript() ?? {};
  }

  /** Check and create, as `up` does for what is new. */
  async create(type: string, news: Properties, timeoutSeconds = 60): Promise<Kept> {
    const inputs = await this.check(type, news);
    const request = new proto.CreateRequest();
    request.setUrn(urn(type, this.name));
    request.setProperties(toStruct(inputs));
    request.setTimeout(timeoutSeconds);
    const response = await this.engine.call(Methods.create, request);
    return { type, id: response.getId(), inputs, state: response.getProperties()?.toJavaScript() ?? {} };
  }

  /** The same for a creation that may break off: what the engine then keeps, if it is told of anything. */
  async tryCreate(type: string, news: Properties): Promise<Kept | undefined> {
    return this.create(type, news).catch((error: unknown) => keptOf(type, error));
  }

  /** The same for an update: without a word of what there is now, the engine keeps what it had. */
  async tryUpdate(kept: Kept, news: Properties): Promise<Kept> {
    return this.update(kept, news).catch((error: unknown) => keptOf(kept.type, error) ?? kept);
  }

  async previewCreate(type: string, news: Properties): Promise<Properties> {
    const request = new proto.CreateRequest();
    request.setUrn(urn(type, this.name));
    request.setProperties(toStruct(await this.check(type, news)));
    request.setPreview(true);
    const response = await this.engine.call(Methods.create, request);
    return response.getProperties()?.toJavaScript() ?? {};
  }

  async previewUpdate(kept: Kept, news: Properties): Promise<Properties> {
    const request = await this.updateRequest(kept, news);
    request.setPreview(true);
    const response = await this.engine.call(Methods.update, request);
    return response.getProperties()?.toJavaScript() ?? {};
  }

  /** What changes, path to "update", "add" or "delete", with "-replace" behind where that is needed. */
  async diff(kept: Kept, news: Properties): Promise<Record<string, string>> {
    const inputs = await this.check(kept.type, news, kept.inputs);
    const request = changeOf(new proto.DiffRequest(), kept, inputs);
    request.setUrn(urn(kept.type, this.name));
    const response = await this.engine.call(Methods.diff, request);
    const changes: Record<string, string> = {};
    response.getDetaileddiffMap().forEach((detail: proto.PropertyDiff, path: string) => {
      changes[path] = KINDS[detail.getKind()] ?? "";
    });
    return changes;
  }

  /** Check and update in place. */
  async update(kept: Kept, news: Properties): Promise<Kept> {
    const request = await this.updateRequest(kept, news);
    const response = await this.engine.call(Methods.update, request);
    const inputs = request.getNews()?.toJavaScript() ?? {};
    return { ...kept, inputs, state: response.getProperties()?.toJavaScript() ?? {} };
  }

  /** Undefined when it is gone. */
  refresh(kept: Kept): Promise<Kept | undefined> {
    return this.read(kept.type, kept.id, kept.state, kept.inputs);
  }

  import(type: string, id: string): Promise<Kept | undefined> {
    return this.read(type, id, {}, {});
  }

  /** In a run of its own, as that of `destroy` or of an `up` without the resource: what was made in the same run would be taken for its replacement. */
  async delete({ type, id, state, inputs }: Kept): Promise<void> {
    await this.configure(this.settings);
    const request = new proto.DeleteRequest();
    request.setUrn(urn(type, this.name));
    request.setId(id);
    request.setProperties(toStruct(state));
    request.setOldInputs(toStruct(inputs));
    request.setTimeout(60);
    await this.engine.call(Methods.delete, request);
  }

  cancel(): Promise<unknown> {
    return this.engine.call(Methods.cancel, new empty.Empty());
  }

  /** What stays below Diagnostics. */
  get logs(): string[] {
    return this.engine.lines.filter(({ ephemeral }) => !ephemeral).map(({ message }) => message);
  }

  stop(): Promise<void> {
    return this.engine.stop();
  }

  private async updateRequest(kept: Kept, news: Properties): Promise<proto.UpdateRequest> {
    const inputs = await this.check(kept.type, news, kept.inputs);
    const request = changeOf(new proto.UpdateRequest(), kept, inputs);
    request.setUrn(urn(kept.type, this.name));
    request.setTimeout(60);
    return request;
  }

  private async read(type: string, id: string, state: Properties, inputs: Properties): Promise<Kept | undefined> {
    const request = new proto.ReadRequest();
    request.setUrn(urn(type, this.name));
    request.setId(id);
    request.setProperties(toStruct(state));
    request.setInputs(toStruct(inputs));
    const response = await this.engine.call(Methods.read, request);
    if (response.getId() === "") return undefined;
    return {
      type,
      id: response.getId(),
      inputs: response.getInputs()?.toJavaScript() ?? {},
      state: response.getProperties()?.toJavaScript() ?? {},
    };
  }
}

/** What an error tells of a resource that exists in part. @throws what is no answer of the plugin */
function keptOf(type: string, error: unknown): Kept | undefined {
  if (!(error instanceof Error) || !("metadata" in error)) throw error;
  const partial = partialFailure(error as ServiceError);
  if (!partial) return undefined;
  return {
    type,
    id: partial.getId(),
    inputs: partial.getInputs()?.toJavaScript() ?? {},
    state: partial.getProperties()?.toJavaScript() ?? {},
  };
}

const { Kind } = proto.PropertyDiff;
const KINDS: Record<number, string> = {
  [Kind.ADD]: "add",
  [Kind.ADD_REPLACE]: "add-replace",
  [Kind.DELETE]: "delete",
  [Kind.DELETE_REPLACE]: "delete-replace",
  [Kind.UPDATE]: "update",
  [Kind.UPDATE_REPLACE]: "update-replace",
};

/** What stays of a resource, and the inputs that it is to have. */
function changeOf<T extends proto.DiffRequest | proto.UpdateRequest>(request: T, kept: Kept, inputs: Properties): T {
  request.setId(kept.id);
  request.setOlds(toStruct(kept.state));
  request.setOldInputs(toStruct(kept.inputs));
  request.setNews(toStruct(inputs));
  return request;
}

export function urn(type: string, name = "subject"): string {
  return `urn:pulumi:test::p::liqo:index:${type}::${name}`;
}

/** The message of what must fail, and what it leaves in the state. */
export async function failureOf(
  work: Promise<unknown>,
): Promise<{ message: string; partial?: proto.ErrorResourceInitFailed }> {
  try {
    await work;
  } catch (error) {
    const { details, message } = error as ServiceError;
    return {
      message: details ?? message,
      partial: details === undefined ? undefined : partialFailure(error as ServiceError),
    };
  }
  throw new Error("it did not fail");
}
