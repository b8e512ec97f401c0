import { status as Code, type ServiceError } from "@grpc/grpc-js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import fc from "fast-check";
import { z } from "zod";
import {
  clusterField,
  defineFunction,
  defineResource,
  quantities,
  UNKNOWN,
  type StoredResource,
} from "../../../provider/framework/index.js";
import { SECRET, SIGNATURE_KEY, UNKNOWN_VALUE } from "../../../provider/server/signatures.js";
import { until } from "../../clusters/support/wait.js";
import { Methods, partialFailure, startFakeEngine, toStruct, type FakeEngine } from "./fake-engine.js";

const URN = "urn:pulumi:dev::p::liqo:index:Thing::it";
const secretOf = (value: unknown) => ({ [SIGNATURE_KEY]: SECRET, value });

/** What a slow resource waits for. */
let release: () => void = () => undefined;
let released: Promise<void> = Promise.resolve();

/** A resource that does what its `behave` input says. */
const thing = defineResource({
  token: "liqo:index:Thing",
  description: "A thing.",
  inputs: z.object({
    behave: z.string().default("well"),
    password: z.string().optional().meta({ secret: true }),
    resources: quantities.default({}),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  outputs: z.object({ size: z.number(), key: z.string().meta({ secret: true }) }),
  replaceOn: ["labels.fixed"],
  preview: (_context, { behave }) => Promise.resolve(behave === UNKNOWN ? {} : { size: 3 }),
  async create(context, { behave, password }) {
    context.status("working");
    if (behave === "fail") throw new Error(`the password ${password} is wrong`);
    context.checkpoint("thing-1", { size: 1 });
    context.status("waiting for the other side");
    if (behave === "slow") {
      await released;
      context.status("about to end");
    }
    if (behave === "warn") for (const line of ["first", "second"]) context.log("warning", line);
    if (behave === "half") throw new Error("the other side does not answer");
    if (behave === "stubborn") await new Promise(() => undefined);
    if (behave === "hang")
      await new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(new Error("aborted"))));
    return { id: "thing-1", outputs: { size: 2, key: "the-key" } };
  },
  read: (_context, { id, inputs, outputs }) =>
    Promise.resolve(
      id === "gone"
        ? undefined
        : {
            inputs: inputs ?? { behave: "imported", resources: {} },
            outputs: { size: outputs.size ?? 9, key: outputs.key ?? "read-key" },
          },
    ),
  update: (_context, { outputs }) => Promise.resolve({ size: (outputs.size ?? 0) + 1, key: outputs.key ?? "new" }),
  delete: (_context, { inputs }) =>
    inputs.behave === "fail" ? Promise.reject(new Error("still in use")) : Promise.resolve(),
});

const clustered = defineResource({
  token: "liqo:index:Clustered",
  description: "With a cluster.",
  inputs: z.object({ consumer: clusterField("The consumer.") }),
  outputs: z.object({}),
  create: () => Promise.resolve({ id: "x", outputs: {} }),
  read: () => Promise.resolve(undefined),
  update: () => Promise.resolve({}),
  delete: () => Promise.resolve(),
});

const formerInputs: unknown[] = [];

/** Notes what its check is told of the inputs in the state. */
const fresh = defineResource({
  token: "liqo:index:Fresh",
  description: "Looks at its past.",
  inputs: z.object({}),
  outputs: z.object({}),
  check(_context, _inputs, _failures, oldInputs) {
    formerInputs.push(oldInputs);
    return Promise.resolve();
  },
  create: () => Promise.resolve({ id: "x", outputs: {} }),
  read: () => Promise.resolve(undefined),
  update: () => Promise.resolve({}),
  delete: () => Promise.resolve(),
});

/** Its inputs were called otherwise twice: "colour", then "color", now "paint". */
const renamed = defineResource({
  token: "liqo:index:Renamed",
  description: "A thing with a past.",
  inputs: z.object({ paint: z.string() }),
  outputs: z.object({ layers: z.number() }),
  stateUpgrades: [rename("colour", "color"), rename("color", "paint")],
  create: () => Promise.resolve({ id: "x", outputs: { layers: 1 } }),
  read: (_context, { inputs, outputs }) =>
    Promise.resolve({ inputs: inputs ?? { paint: "none" }, outputs: { layers: outputs.layers ?? 0 } }),
  update: (_context, { oldInputs }) => Promise.resolve({ layers: oldInputs.paint.length }),
  delete: (_context, { inputs }) =>
    inputs.paint === "red" ? Promise.resolve() : Promise.reject(new Error(`it is ${inputs.paint}`)),
});

function rename(from: string, to: string): (old: StoredResource) => StoredResource {
  const renameIn = ({ [from]: value, ...rest }: Record<string, unknown>) => ({ ...rest, [to]: value });
  return ({ inputs, state }) => ({ inputs: renameIn(inputs), state: renameIn(state) });
}

const double = defineFunction({
  token: "liqo:index:double",
  description: "Doubles.",
  inputs: z.object({ value: z.number() }),
  outputs: z.object({ result: z.number() }),
  call: (_context, { value }) => Promise.resolve({ result: value * 2 }),
});

describe("the plugin's gRPC service", () => {
  let engine: FakeEngine;
  beforeEach(async () => {
    engine = await startFakeEngine({
      resources: [thing, clustered, renamed, fresh],
      functions: [double],
      components: [],
    });
  });
  afterEach(() => engine.stop());

  const check = (news: Record<string, unknown>, urn = URN) => {
    const request = new proto.CheckRequest();
    request.setUrn(urn);
    request.setNews(toStruct(news));
    return engine.call(Methods.check, request);
  };
  const create = (properties: Record<string, unknown>, options: { preview?: boolean; timeout?: number } = {}) => {
    const request = new proto.CreateRequest();
    request.setUrn(URN);
    request.setProperties(toStruct(properties));
    request.setPreview(options.preview ?? false);
    request.setTimeout(options.timeout ?? 0);
    return engine.call(Methods.create, request);
  };
  const diff = (old: Record<string, unknown>, news: Record<string, unknown>) => {
    const request = new proto.DiffRequest();
    request.setUrn(URN);
    request.setId("thing-1");
    request.setOldInputs(toStruct(old));
    request.setOlds(toStruct(old));
    request.setNews(toStruct(news));
    return engine.call(Methods.diff, request);
  };
  const failureOf = async (work: Promise<unknown>): Promise<ServiceError> => {
    try {
      await work;
    } catch (error) {
      return error as ServiceError;
    }
    throw new Error("it did not fail");
  };

  it("answers Configure with all that the engine may send", async () => {
    const response = await engine.call(Methods.configure, new proto.ConfigureRequest());
    expect(response.getAcceptsecrets() && response.getAcceptresources() && response.getAcceptoutputs()).to.equal(true);
    expect(response.getSupportspreview()).to.equal(true);
  });

  it("refuses configuration that is not valid, naming the setting", async () => {
    const request = new proto.CheckRequest();
    request.setNews(toStruct({ skipVersionCheck: "maybe", kubeconfig: "/x", unheard: "1" }));
    const response = await engine.call(Methods.checkConfig, request);
    expect(response.getFailuresList().map((one) => one.getProperty())).to.have.members(["skipVersionCheck", "unheard"]);
    expect(response.getInputs()?.toJavaScript()["kubeconfig"]).to.deep.equal(secretOf("/x"));
  });

  it("checks: defaults in, secrets marked, failures with paths", async () => {
    const good = await check({ password: "hush", labels: { a: secretOf("b") } });
    expect(good.getFailuresList()).to.deep.equal([]);
    expect(good.getInputs()?.toJavaScript()).to.deep.equal({
      behave: "well",
      password: secretOf("hush"),
      resources: {},
      labels: { a: secretOf("b") },
    });
    const bad = await check({ behave: true, resources: { cpu: "x" } });
    expect(bad.getFailuresList().map((one) => one.getProperty())).to.have.members(["behave", "resources.cpu"]);
  });

  it("checks clusters: unreadable, unknown, unreachable within its bound", async () => {
    const urn = URN.replace("Thing", "Clustered");
    const failures = async (consumer: unknown) =>
      (await check({ consumer }, urn)).getFailuresList().map((one) => [one.getProperty(), one.getReason()]);
    expect(await failures({ kubeconfig: UNKNOWN_VALUE })).to.deep.equal([]);
    expect((await failures({ kubeconfig: "/no/such" }))[0]?.[0]).to.equal("consumer.kubeconfig");
    const kubeconfig = JSON.stringify({
      apiVersion: "v1",
      "current-context": "far",
      clusters: [{ name: "far", cluster: { server: "https://127.0.0.1:9" } }],
      users: [{ name: "far", user: { token: "hush-hush-token" } }],
      contexts: [{ name: "far", context: { cluster: "far", user: "far" } }],
    });
    const [[property, reason] = []] = await failures({ kubeconfig });
    expect(property).to.equal("consumer.kubeconfig");
    expect(reason).to.contain("far").and.contain("https://127.0.0.1:9");
    expect(reason).not.to.contain("hush");
    expect((await failures({ kubeconfig, context: "near" }))[0]).to.deep.equal([
      "consumer.context",
      'the kubeconfig has no context "near"; there are far',
    ]);
  });

  describe("with an engine that replaces before it deletes", () => {
    /** A deletion that is carried out fails, which shows that it was. */
    const remove = (id = "thing-1", urn = URN) => {
      const request = new proto.DeleteRequest();
      request.setUrn(urn);
      request.setId(id);
      request.setProperties(toStruct({ behave: "fail" }));
      return engine.call(Methods.delete, request);
    };
    const renamedTo = (name: string) => URN.replace(/::[^:]*$/, `::${name}`);

    it("leaves alone what the replacement has taken up, once, and says so", async () => {
      await create({});
      await remove();
      expect(engine.lines.at(-1)?.message).to.contain("nothing is deleted").and.to.contain("deleteBeforeReplace: true");
      expect((await failureOf(remove())).details).to.contain("still in use");
    });

    it("deletes what has another ID, what was deleted first, and what was made in another run", async () => {
      await create({});
      expect((await failureOf(remove("thing-0"))).details).to.contain("still in use");
      await remove();
      await failureOf(remove());
      await create({});
      await engine.call(Methods.configure, new proto.ConfigureRequest());
      expect((await failureOf(remove())).details).to.contain("still in use");
    });

    it("leaves alone what another resource has taken up, once for each, and says which", async () => {
      await create({});
      for (const old of ["old", "older"]) {
        await remove("thing-1", renamedTo(old));
        expect(engine.lines.at(-1)?.message).to.contain("nothing is deleted").and.to.contain('"it"');
        expect((await failureOf(remove("thing-1", renamedTo(old)))).details).to.contain("still in use");
      }
    });

    it("so it is with what has been made in part", async () => {
      await failureOf(create({ behave: "half" }));
      await remove("thing-1", renamedTo("old"));
      expect((await failureOf(remove())).details).to.contain("still in use");
    });

    it("so it is with what the program has kept, but not with its own deletion, nor with another ID or in another run", async () => {
      await diff({}, {});
      expect((await failureOf(remove())).details).to.contain("still in use");
      expect((await failureOf(remove("thing-0", renamedTo("old")))).details).to.contain("still in use");
      await remove("thing-1", renamedTo("old"));
      await diff({}, {});
      await engine.call(Methods.configure, new proto.ConfigureRequest());
      expect((await failureOf(remove("thing-1", renamedTo("old")))).details).to.contain("still in use");
    });
  });

  it("takes empty former inputs, which engines send of what is new, for none", async () => {
    const request = new proto.CheckRequest();
    request.setUrn(URN.replace("Thing", "Fresh"));
    request.setNews(toStruct({}));
    request.setOlds(toStruct({}));
    await engine.call(Methods.check, request);
    expect(formerInputs).to.deep.equal([undefined]);
  });

  it("diffs in detail, by meaning, and says what replaces", async () => {
    const old = { resources: { cpu: "1000m" }, labels: { fixed: "a", free: "a" } };
    const same = await diff(old, { ...old, resources: { cpu: "1" } });
    expect(same.getChanges()).to.equal(proto.DiffResponse.DiffChanges.DIFF_NONE);
    const free = await diff(old, { ...old, labels: { fixed: "a", free: "b" } });
    expect(free.getChanges()).to.equal(proto.DiffResponse.DiffChanges.DIFF_SOME);
    expect(free.getReplacesList()).to.deep.equal([]);
    const fixed = await diff(old, { labels: { fixed: UNKNOWN_VALUE, free: "a" } });
    expect(fixed.getDetaileddiffMap().get("labels.fixed")?.getKind()).to.equal(proto.PropertyDiff.Kind.UPDATE_REPLACE);
    expect(fixed.getDetaileddiffMap().get("resources")?.getKind()).to.equal(proto.PropertyDiff.Kind.DELETE);
    expect(fixed.getDetaileddiffMap().get("resources")?.getInputdiff()).to.equal(true);
    expect(fixed.getReplacesList()).to.deep.equal(["labels"]);
    expect(fixed.getDeletebeforereplace()).to.equal(true);
  });

  it("previews with what is known and unknown for the rest", async () => {
    const response = await create({ behave: UNKNOWN_VALUE, resources: {} }, { preview: true });
    expect(response.getProperties()?.toJavaScript()).to.deep.equal({
      behave: UNKNOWN_VALUE,
      resources: {},
      size: UNKNOWN_VALUE,
      key: secretOf(UNKNOWN_VALUE),
    });
    const known = await create({ behave: "well", resources: {} }, { preview: true });
    expect(known.getProperties()?.toJavaScript()["size"]).to.equal(3);
    expect(engine.lines).to.deep.equal([]);
  });

  it("says log lines in order before the answer", async () => {
    const before = engine.lines.length;
    await create({ behave: "warn" });
    const said = engine.lines.slice(before).filter(({ ephemeral }) => !ephemeral);
    expect(said.map(({ message, urn }) => ({ message, urn }))).to.deep.equal([
      { message: "first", urn: URN },
      { message: "second", urn: URN },
    ]);
  });

  it("says the newest status of what takes its time, and none of what has ended", async () => {
    const before = engine.lines.length;
    for (let round = 0; round < 2; round++) {
      released = new Promise((resolve) => (release = resolve));
      const heard = engine.nextLine();
      const slow = create({ behave: "slow" });
      await heard;
      release();
      await slow;
    }
    const line = { message: "waiting for the other side", urn: URN, ephemeral: true };
    expect(engine.lines.slice(before)).to.deep.equal([line, line]);
  });

  it("creates, with secrets marked", async () => {
    const response = await create({ behave: "well", password: secretOf("hush-hush") });
    expect(response.getId()).to.equal("thing-1");
    expect(response.getProperties()?.toJavaScript()).to.deep.equal({
      behave: "well",
      password: secretOf("hush-hush"),
      size: 2,
      key: secretOf("the-key"),
    });
  });

  it("never answers with a secret or a stack", async () => {
    const error = await failureOf(create({ behave: "fail", password: secretOf("hush-hush") }));
    expect(error.details).to.equal("the password [secret] is wrong");
    expect(partialFailure(error)).to.equal(undefined);
  });

  it("keeps what exists in part", async () => {
    const error = await failureOf(create({ behave: "half", password: secretOf("hush-hush") }));
    const partial = partialFailure(error);
    expect(error.details).to.equal("the other side does not answer");
    expect(partial?.getId()).to.equal("thing-1");
    expect(partial?.getReasonsList()).to.deep.equal(["the other side does not answer"]);
    expect(partial?.getProperties()?.toJavaScript()).to.deep.equal({
      behave: "half",
      password: secretOf("hush-hush"),
      size: 1,
    });
    expect(partial?.getInputs()?.toJavaScript()).to.deep.equal({ behave: "half", password: secretOf("hush-hush") });
  });

  it("honours time-outs, and says what was waited for", async () => {
    const error = await failureOf(create({ behave: "hang" }, { timeout: 0.2 }));
    expect(error.details).to.equal("timed out after 0.2 s during: waiting for the other side");
    expect(partialFailure(error)?.getId()).to.equal("thing-1");
  });

  for (const behave of ["hang", "stubborn"]) {
    it(`ends within a second of Cancel, state kept (${behave})`, async () => {
      const pending = failureOf(create({ behave }));
      const isWaiting = () => engine.lines.some(({ message }) => message === "waiting for the other side");
      await until("what is to be cancelled", 20_000, () => isWaiting() || undefined);
      const start = Date.now();
      await engine.call(Methods.cancel, new empty.Empty());
      const error = await pending;
      expect(Date.now() - start).to.be.lessThan(1_000);
      expect(error.details).to.equal("cancelled during: waiting for the other side");
      expect(partialFailure(error)?.getProperties()?.toJavaScript()["size"]).to.equal(1);
      const later = await failureOf(create({ behave }));
      expect(later.details).to.contain("cancelled");
    });
  }

  it("goes on with the next run after a Cancel, if an engine attaches to it", async () => {
    await engine.call(Methods.cancel, new empty.Empty());
    const end = async () => (await failureOf(create({ behave: "hang" }, { timeout: 0.2 }))).details;
    expect(await end()).to.contain("cancelled");
    const attach = new plugin.PluginAttach();
    attach.setAddress(engine.address);
    await engine.call(Methods.attach, attach);
    expect(await end()).to.contain("timed out");
  });

  it("updates, reads, imports and deletes", async () => {
    const update = new proto.UpdateRequest();
    update.setUrn(URN);
    update.setId("thing-1");
    update.setOlds(toStruct({ behave: "well", size: 2, key: secretOf("k") }));
    update.setNews(toStruct({ behave: "better" }));
    const updated = await engine.call(Methods.update, update);
    expect(updated.getProperties()?.toJavaScript()).to.deep.equal({ behave: "better", size: 3, key: secretOf("k") });

    const read = async (id: string, properties: Record<string, unknown> = {}, inputs: Record<string, unknown> = {}) => {
      const request = new proto.ReadRequest();
      request.setUrn(URN);
      request.setId(id);
      request.setProperties(toStruct(properties));
      request.setInputs(toStruct(inputs));
      return engine.call(Methods.read, request);
    };
    expect((await read("gone", { size: 1 })).getId()).to.equal("");
    const imported = await read("thing-7");
    expect(imported.getId()).to.equal("thing-7");
    expect(imported.getInputs()?.toJavaScript()).to.deep.equal({ behave: "imported", resources: {} });
    expect(imported.getProperties()?.toJavaScript()["key"]).to.deep.equal(secretOf("read-key"));
    const refreshed = await read(
      "thing-1",
      { size: 4, key: secretOf("k") },
      { behave: "well", password: secretOf("hush") },
    );
    expect(refreshed.getInputs()?.toJavaScript()).to.deep.equal({ behave: "well", password: secretOf("hush") });
    expect(refreshed.getProperties()?.toJavaScript()["size"]).to.equal(4);

    const remove = new proto.DeleteRequest();
    remove.setUrn(URN);
    remove.setId("thing-1");
    remove.setProperties(toStruct({ behave: "fail" }));
    expect((await failureOf(engine.call(Methods.delete, remove))).details).to.equal("still in use");
  });

  it("calls functions; unknown arguments make unknown results", async () => {
    const invoke = async (args: Record<string, unknown>) => {
      const request = new proto.InvokeRequest();
      request.setTok("liqo:index:double");
      request.setArgs(toStruct(args));
      return engine.call(Methods.invoke, request);
    };
    expect((await invoke({ value: 4 })).getReturn()?.toJavaScript()).to.deep.equal({ result: 8 });
    expect((await invoke({ value: UNKNOWN_VALUE })).getReturn()?.toJavaScript()).to.deep.equal({
      result: UNKNOWN_VALUE,
    });
    expect((await invoke({ value: "x" })).getFailuresList()[0]?.getProperty()).to.equal("value");
  });

  it("answers what it does not have: unknown types and UNIMPLEMENTED methods", async () => {
    const error = await failureOf(check({}, "urn:pulumi:dev::p::liqo:index:Nothing::it"));
    expect(error.code).to.equal(Code.NOT_FOUND);
    expect(error.details).to.contain("there are liqo:index:Thing, liqo:index:Clustered, liqo:index:Renamed");
    const unimplemented = await failureOf(engine.call(Methods.getMapping, new proto.GetMappingRequest()));
    expect(unimplemented.code).to.equal(Code.UNIMPLEMENTED);
  });

  describe("with a state that an earlier version has written", () => {
    const urn = URN.replace("Thing", "Renamed");
    const states = [
      { colour: "red", layers: 2 },
      { color: "red", layers: 2, __stateVersion: 1 },
      { paint: "red", layers: 2, __stateVersion: 2 },
    ];
    const inputsOf = (state: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(state).filter(([key]) => key !== "layers" && key !== "__stateVersion"));

    for (const state of states) {
      it(`of shape ${state.__stateVersion ?? 0}: no difference, and refresh writes the present one`, async () => {
        const request = new proto.DiffRequest();
        request.setUrn(urn);
        request.setId("x");
        request.setOlds(toStruct(state));
        request.setOldInputs(toStruct(inputsOf(state)));
        request.setNews(toStruct({ paint: "red" }));
        const { DIFF_NONE } = proto.DiffResponse.DiffChanges;
        expect((await engine.call(Methods.diff, request)).getChanges()).to.equal(DIFF_NONE);
        const read = new proto.ReadRequest();
        read.setUrn(urn);
        read.setId("x");
        read.setProperties(toStruct(state));
        read.setInputs(toStruct(inputsOf(state)));
        const found = await engine.call(Methods.read, read);
        expect(found.getInputs()?.toJavaScript()).to.deep.equal({ paint: "red" });
        expect(found.getProperties()?.toJavaScript()).to.deep.equal({ paint: "red", layers: 2, __stateVersion: 2 });
        const removal = new proto.DeleteRequest();
        removal.setUrn(urn);
        removal.setId("x");
        removal.setProperties(toStruct(state));
        await engine.call(Methods.delete, removal);
      });
    }

    it("refuses one of a later version", async () => {
      const removal = new proto.DeleteRequest();
      removal.setUrn(urn);
      removal.setId("x");
      removal.setProperties(toStruct({ paint: "red", __stateVersion: 3 }));
      const error = await failureOf(engine.call(Methods.delete, removal));
      expect(error.details).to.contain("written by a later version of the package liqo");
    });
  });

  it("survives any inputs in check and diff, and leaks no secret", async () => {
    const marker = "s3cr3t-marker-value";
    const value = fc.oneof(fc.jsonValue(), fc.constant(UNKNOWN_VALUE), fc.constant(secretOf(marker)));
    const inputs = fc.dictionary(fc.constantFrom("behave", "password", "resources", "labels", "zzz"), value);
    await fc.assert(
      fc.asyncProperty(inputs, inputs, async (old, news) => {
        const checked = await check(news);
        const reasons = checked.getFailuresList().map((one) => one.getReason());
        expect(reasons.join()).not.to.contain(marker);
        await diff(old, news);
      }),
      { numRuns: 200 },
    );
    expect(JSON.stringify(engine.lines)).not.to.contain(marker);
  });
});
