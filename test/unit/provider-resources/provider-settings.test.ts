import proto from "@pulumi/pulumi/proto/provider_pb.js";
import { expect } from "chai";
import { registry } from "../../../provider/resources/index.js";
import { SECRET, SIGNATURE_KEY, UNKNOWN_VALUE } from "../../../provider/server/signatures.js";
import { Methods, startFakeEngine, toStruct, type FakeEngine } from "../provider/fake-engine.js";
import { readConfiguration } from "../../../provider/server/configuration.js";
import { settableProperties } from "./properties.js";

type Properties = Record<string, unknown>;

/** Nothing answers there. */
const kubeconfigOf = (...contexts: string[]): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": contexts[0],
    clusters: [{ name: "there", cluster: { server: "https://127.0.0.1:9" } }],
    users: [{ name: "me", user: {} }],
    contexts: contexts.map((name) => ({ name, context: { cluster: "there", user: "me" } })),
  });

/** A cluster that is still to be made: nothing is asked of it. */
const ELSEWHERE = { cluster: { kubeconfig: UNKNOWN_VALUE } };

/**
 * What becomes of one setting: two values, what else is set beside, and what the check of a resource then tells of the first and of the second. A provider has
 * nothing in a cluster that a refresh or an import could find. What the switches do has tests of its own: of preconditions, of clusters out of reach.
 */
interface Row {
  create: unknown;
  update: unknown;
  beside?: Properties;
  /** Of the resource that is checked. */
  inputs?: Properties;
  told?: [ofCreate: RegExp, ofUpdate: RegExp];
}

const TABLE: Record<string, Row> = {
  kubeconfig: {
    create: kubeconfigOf("west"),
    update: kubeconfigOf("east"),
    beside: { context: "nowhere" },
    told: [/has no context "nowhere"; there are west$/m, /has no context "nowhere"; there are east$/m],
  },
  context: {
    create: "west",
    update: "south",
    beside: { kubeconfig: kubeconfigOf("east") },
    told: [/has no context "west"; there are east$/m, /has no context "south"; there are east$/m],
  },
  skipVersionCheck: { create: true, update: false },
  globalLabels: {
    create: { env: "test" },
    update: { env: "live" },
    inputs: ELSEWHERE,
    told: [/"env":"test"/, /"env":"live"/],
  },
  globalAnnotations: {
    create: { note: "a" },
    update: { note: "b" },
    inputs: ELSEWHERE,
    told: [/"note":"a"/, /"note":"b"/],
  },
  deleteUnreachable: { create: true, update: false },
  skipUpdateUnreachable: { create: true, update: false },
};

describe("every setting of the provider", () => {
  let engine: FakeEngine;
  before(async () => (engine = await startFakeEngine(registry)));
  after(() => engine?.stop());

  it("has a row", () => {
    const wanted = settableProperties().filter(({ owner, path }) => owner === "Provider" && !path.endsWith(".key"));
    expect(Object.keys(TABLE).sort()).to.deep.equal(wanted.map(({ path }) => path).sort());
  });

  it("is taken as a value, and as the text that engines send", async () => {
    for (const [name, { create }] of Object.entries(TABLE)) {
      for (const value of [create, typeof create === "string" ? create : JSON.stringify(create)]) {
        const request = new proto.CheckRequest();
        request.setNews(toStruct({ [name]: value }));
        const response = await engine.call(Methods.checkConfig, request);
        expect(response.getFailuresList(), name).to.deep.equal([]);
        const kept = name === "kubeconfig" ? { [SIGNATURE_KEY]: SECRET, value } : value;
        expect(response.getInputs()?.toJavaScript(), name).to.deep.equal({ [name]: kept });
      }
    }
  });

  it("takes a kubeconfig as an object, as packages that make clusters give it", async () => {
    const kubeconfig = { clusters: [{ name: "c", cluster: { server: "https://192.0.2.1" } }] };
    const request = new proto.CheckRequest();
    request.setNews(toStruct({ kubeconfig }));
    const response = await engine.call(Methods.checkConfig, request);
    expect(response.getFailuresList()).to.deep.equal([]);
    const kept = response.getInputs()?.toJavaScript()["kubeconfig"];
    expect(kept).to.deep.equal({ [SIGNATURE_KEY]: SECRET, value: kubeconfig });
    expect(readConfiguration({ kubeconfig }, {}).kubeconfig).to.equal(JSON.stringify(kubeconfig));
  });

  it("changes in place: nothing in a cluster is replaced for it", async () => {
    const changes = async (old: Properties, next: Properties): Promise<Record<string, number>> => {
      const request = new proto.DiffRequest();
      request.setOldInputs(toStruct(old));
      request.setNews(toStruct(next));
      const response = await engine.call(Methods.diffConfig, request);
      expect(response.getReplacesList()).to.deep.equal([]);
      const found: Record<string, number> = {};
      response.getDetaileddiffMap().forEach((detail: proto.PropertyDiff, path: string) => {
        found[path.split(".")[0] ?? ""] = detail.getKind();
      });
      return found;
    };
    const { ADD, DELETE, UPDATE } = proto.PropertyDiff.Kind;
    for (const [name, { create, update }] of Object.entries(TABLE)) {
      expect(await changes({ [name]: create }, { [name]: create }), name).to.deep.equal({});
      expect(await changes({ [name]: create }, { [name]: update }), name).to.deep.equal({ [name]: UPDATE });
      expect(await changes({}, { [name]: create }), name).to.deep.equal({ [name]: ADD });
      expect(await changes({ [name]: create }, {}), name).to.deep.equal({ [name]: DELETE });
    }
  });

  it("holds for the resources that are checked after it", async () => {
    for (const [name, { create, update, beside, inputs, told }] of Object.entries(TABLE)) {
      if (!told) continue;
      for (const [index, value] of [create, update].entries()) {
        const settings = { ...beside, [name]: value };
        expect(await toldWith(settings, inputs), name).to.match(told[index] as RegExp);
      }
    }
  });

  /** What the check of a resource tells: what is wrong, line by line, and its inputs. */
  async function toldWith(settings: Properties, inputs: Properties = {}): Promise<string> {
    const configuration = new proto.ConfigureRequest();
    configuration.setArgs(toStruct(settings));
    await engine.call(Methods.configure, configuration);
    const request = new proto.CheckRequest();
    request.setUrn("urn:pulumi:dev::p::liqo:index:NamespaceOffloading::it");
    request.setNews(toStruct({ namespace: "shop", ...inputs }));
    const response = await engine.call(Methods.check, request);
    const reasons = response.getFailuresList().map((failure) => failure.getReason());
    return [...reasons, JSON.stringify(response.getInputs()?.toJavaScript())].join("\n");
  }
});
