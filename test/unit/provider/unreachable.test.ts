import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceError } from "@grpc/grpc-js";
import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import { z } from "zod";
import { clusterField, defineResource, type CallContext } from "../../../provider/framework/index.js";
import { readConfiguration } from "../../../provider/server/configuration.js";
import { Methods, startFakeEngine, toStruct, type FakeEngine } from "./fake-engine.js";

const URN = "urn:pulumi:dev::p::liqo:index:Link::it";
const SETTINGS = /deleteUnreachable.*PULUMI_LIQO_DELETE_UNREACHABLE/s;

type Ends = { consumer?: { kubeconfig?: string }; provider?: { kubeconfig?: string } };

/** Asks both clusters for whatever is done. */
async function askBoth(context: CallContext, { consumer, provider }: Ends): Promise<void> {
  for (const cluster of [consumer, provider]) {
    await (await context.client(cluster)).request("GET", "/api/v1/namespaces", { signal: context.signal });
  }
}

const link = defineResource({
  token: "liqo:index:Link",
  description: "Between two clusters.",
  inputs: z.object({
    consumer: clusterField("One."),
    provider: clusterField("The other."),
    password: z.string().optional().meta({ secret: true }),
    size: z.int().default(1),
    forceUnreachable: z.boolean().optional(),
  }),
  outputs: z.object({ made: z.number() }),
  create: () => Promise.resolve({ id: "x", outputs: { made: 1 } }),
  async read(context, { inputs }) {
    await askBoth(context, inputs ?? {});
    return { inputs: { ...inputs, size: 9 }, outputs: { made: 2 } };
  },
  async update(context, { inputs }) {
    await askBoth(context, inputs);
    return { made: 3 };
  },
  delete: (context, { inputs }) => askBoth(context, inputs),
});

describe("clusters out of reach", () => {
  let engine: FakeEngine;
  let cluster: http.Server;
  let alive: object;
  const gone = { kubeconfig: kubeconfig("gone", "http://127.0.0.1:9") };

  before(async () => {
    cluster = http.createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
    await once(cluster, "listening");
    alive = { kubeconfig: kubeconfig("alive", `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`) };
  });
  after(() => {
    cluster.closeAllConnections();
    cluster.close();
  });
  beforeEach(async () => {
    engine = await startFakeEngine({ resources: [link], functions: [], components: [] });
  });
  afterEach(() => engine.stop());

  const configure = async (settings: Record<string, boolean>): Promise<void> => {
    const request = new proto.ConfigureRequest();
    request.setArgs(toStruct(settings));
    await engine.call(Methods.configure, request);
  };
  const stateOf = (ends: object) => ({ ...ends, password: "hush-hush", size: 1, made: 1 });
  const read = (ends: object) => {
    const request = new proto.ReadRequest();
    request.setUrn(URN);
    request.setId("x");
    request.setProperties(toStruct(stateOf(ends)));
    request.setInputs(toStruct({ ...ends, password: "hush-hush", size: 1 }));
    return engine.call(Methods.read, request);
  };
  const remove = (ends: object) => {
    const request = new proto.DeleteRequest();
    request.setUrn(URN);
    request.setId("x");
    request.setProperties(toStruct(stateOf(ends)));
    return engine.call(Methods.delete, request);
  };
  const update = (ends: object, size: number) => {
    const request = new proto.UpdateRequest();
    request.setUrn(URN);
    request.setId("x");
    request.setOlds(toStruct(stateOf(ends)));
    request.setOldInputs(toStruct({ ...ends, size: 1 }));
    request.setNews(toStruct({ ...ends, size }));
    return engine.call(Methods.update, request);
  };
  const check = async (ends: object, size: number, isInState: boolean) => {
    const request = new proto.CheckRequest();
    request.setUrn(URN);
    if (isInState) request.setOlds(toStruct({ ...ends, size: 1 }));
    request.setNews(toStruct({ ...ends, size }));
    return engine.call(Methods.check, request);
  };
  const failure = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => Promise.reject(new Error("it did not fail")),
      (error: ServiceError) => error.details,
    );
  const warned = () => engine.lines.filter(({ ephemeral }) => !ephemeral).map(({ message }) => message);

  it("two environments whose clusters have equal IDs: what is made in one lets nothing stay in the other", async () => {
    const elsewhere = { consumer: alive, provider: gone };
    const request = new proto.CreateRequest();
    request.setUrn(URN.replace("::it", "::after"));
    request.setProperties(toStruct({ consumer: gone, provider: alive, size: 1 }));
    await engine.call(Methods.create, request);
    expect(await failure(remove(elsewhere))).to.contain("cluster gone");
    await remove({ consumer: gone, provider: alive });
    expect(warned().at(-1)).to.contain('"after"').and.to.contain("nothing is deleted");
  });

  it("are errors that name the settings, whatever is done", async () => {
    const ends = { consumer: alive, provider: gone };
    for (const work of [read(ends), update(ends, 1), remove(ends)]) {
      const text = await failure(work);
      expect(text).to.contain("cannot reach the API server of cluster gone");
      expect(text).to.match(/deleteUnreachable|skipUpdateUnreachable/);
    }
    expect(await failure(read(ends)))
      .to.match(SETTINGS)
      .and.to.match(/PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE/);
    const [told] = (await check(ends, 2, true)).getFailuresList();
    expect(told?.getProperty()).to.equal("provider.kubeconfig");
    expect(told?.getReason()).to.match(SETTINGS);
    // What is not there yet cannot be left as it is.
    expect((await check(ends, 2, false)).getFailuresList()[0]?.getReason()).not.to.contain("skipUpdateUnreachable");
  });

  it("with deleteUnreachable, leave the state only when no cluster of the resource answers, and never silently", async () => {
    await configure({ deleteUnreachable: true });
    expect((await read({ consumer: alive, provider: gone })).getId()).to.equal("x");
    expect(warned().at(-1)).to.contain("stays in the state, as consumer still answers");
    expect((await read({ consumer: gone, provider: gone })).getId()).to.equal("");
    expect(warned().at(-1)).to.contain("leaves the state, as deleteUnreachable asks");
    expect(await failure(remove({ consumer: alive, provider: gone }))).to.contain("cluster gone");
    await remove({ consumer: gone, provider: gone });
    expect(warned().at(-1)).to.contain("leaves the state");
  });

  it("with forceUnreachable of their own, likewise, and others not", async () => {
    const forced = { forceUnreachable: true };
    expect((await read({ consumer: alive, provider: gone, ...forced })).getId()).to.equal("x");
    expect(warned().at(-1)).to.contain("stays in the state, as consumer still answers");
    expect((await read({ consumer: gone, provider: gone, ...forced })).getId()).to.equal("");
    expect(warned().at(-1)).to.contain("leaves the state, as forceUnreachable asks");
    await remove({ consumer: gone, provider: gone, ...forced });
    expect(warned().at(-1)).to.contain("leaves the state, as forceUnreachable asks");
    for (const others of [{}, { forceUnreachable: false }])
      expect(await failure(remove({ consumer: gone, provider: gone, ...others }))).to.match(SETTINGS);
  });

  it("with skipUpdateUnreachable, stay as they are in check, refresh and update, secrets included", async () => {
    await configure({ skipUpdateUnreachable: true });
    const ends = { consumer: alive, provider: gone };
    const kept = await check(ends, 2, true);
    expect(kept.getFailuresList()).to.deep.equal([]);
    expect(kept.getInputs()?.toJavaScript()).to.include({ size: 1 });
    const found = await read(ends);
    expect(found.getInputs()?.toJavaScript()).to.include({ size: 1 });
    expect(found.getProperties()?.toJavaScript()["made"]).to.equal(1);
    expect(JSON.stringify(found.getProperties()?.toJavaScript()["password"])).to.contain(
      "1b47061264138c4ac30d75fd1eb44270",
    );
    expect((await update(ends, 1)).getProperties()?.toJavaScript()["made"]).to.equal(1);
    expect(warned()).to.have.length(3);
    // Inputs that the state does not have yet would be lost.
    expect(await failure(update(ends, 2))).to.contain("cluster gone");
    expect(await failure(remove(ends))).to.match(SETTINGS);
    expect((await check(ends, 2, false)).getFailuresList()).to.have.length(1);
  });

  it("change nothing for clusters that answer", async () => {
    await configure({ deleteUnreachable: true, skipUpdateUnreachable: true });
    const ends = { consumer: alive, provider: alive };
    expect((await read(ends)).getInputs()?.toJavaScript()["size"]).to.equal(9);
    expect((await check(ends, 2, true)).getInputs()?.toJavaScript()["size"]).to.equal(2);
    expect((await update(ends, 2)).getProperties()?.toJavaScript()["made"]).to.equal(3);
    expect(warned()).to.deep.equal([]);
  });

  it("are settled by the environment where the configuration says nothing", () => {
    const both = { PULUMI_LIQO_DELETE_UNREACHABLE: "true", PULUMI_LIQO_SKIP_UPDATE_UNREACHABLE: "true" };
    expect(readConfiguration({}, both)).to.include({ deleteUnreachable: true, skipUpdateUnreachable: true });
    expect(readConfiguration({ deleteUnreachable: "false" }, both).deleteUnreachable).to.equal(false);
    expect(readConfiguration({}, { PULUMI_LIQO_FORCE_UNREACHABLE: "true" }).deleteUnreachable).to.equal(true);
    expect(readConfiguration({}, {})).to.include({ deleteUnreachable: false, skipUpdateUnreachable: false });
  });
});

function kubeconfig(name: string, server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name, user: { token: "hush-hush-token" } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}
