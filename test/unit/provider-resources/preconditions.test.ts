import { expect } from "chai";
import type { KubeClient } from "../../../agent/runtime/index.js";
import {
  judgeVersions,
  minorOf,
  pairOf,
  readPairImport,
  readSingleImport,
  splitPairId,
  versionOf,
  type InstalledAgent,
} from "../../../provider/preconditions/index.js";

const agent = (changes: Partial<InstalledAgent> = {}): InstalledAgent => ({
  clusterId: "a",
  namespace: "liqo",
  version: "0.1.0",
  isOwn: true,
  isAvailable: true,
  ...changes,
});
const side = (name: "consumer" | "provider", installed: InstalledAgent | undefined) => ({
  side: name,
  client: { cluster: `cluster-${name}` } as KubeClient,
  agent: installed,
});

describe("versions of two agents", () => {
  it("must share their minor version, unless one is Liqo's own", () => {
    expect(judgeVersions(agent(), agent({ version: "0.1.9" }))).to.equal("fit");
    expect(judgeVersions(agent(), agent({ version: "0.2.0" }))).to.equal("refuse");
    expect(judgeVersions(agent(), agent({ version: "1.2.0", isOwn: false }))).to.equal("warn");
  });

  it("are taken with a warning where one cannot be told", () => {
    expect(judgeVersions(agent(), agent({ version: undefined }))).to.equal("warn");
    expect(judgeVersions(agent({ version: undefined }), agent({ version: "1.2.0", isOwn: false }))).to.equal("warn");
  });

  it("are read from the label, else from the image", () => {
    const deployment = (image: string, labels = {}) => ({
      metadata: { labels },
      spec: { selector: {}, template: { spec: { containers: [{ name: "controller-manager", image }] } } },
    });
    expect(versionOf(deployment("r:5000/x:v1.2.3"))).to.equal("1.2.3");
    expect(versionOf(deployment("r:5000/x@sha256:00"))).to.equal(undefined);
    expect(versionOf(deployment("x:1", { "app.kubernetes.io/version": "0.1.0" }))).to.equal("0.1.0");
    expect(minorOf("v1.2.3-rc.1")).to.equal("1.2");
  });
});

describe("a pair of clusters", () => {
  it("needs two agents with different IDs", () => {
    const pair = pairOf(side("consumer", agent()), side("provider", agent({ clusterId: "b" })));
    expect(pair.provider.clusterId).to.equal("b");
    expect(() => pairOf(side("consumer", agent()), side("provider", agent()))).to.throw(
      /same|both clusters have the cluster ID "a"/,
    );
  });

  it("names the cluster without agent, and the version of the other", () => {
    expect(() => pairOf(side("consumer", agent()), side("provider", undefined))).to.throw(
      /^provider: there is no agent in cluster cluster-provider \(in cluster cluster-consumer: version 0\.1\.0\)/,
    );
  });

  it("is identified by both IDs", () => {
    expect(splitPairId("a/b")).to.deep.equal({ consumerId: "a", providerId: "b" });
    for (const id of ["a", "a/", "a/b/c"]) expect(() => splitPairId(id)).to.throw(/is not an ID/);
  });

  it("is imported with a context for each cluster", () => {
    expect(readPairImport("a/b@x@y,z")).to.deep.equal({
      id: "a/b",
      consumer: { context: "x@y" },
      provider: { context: "z" },
    });
    expect(() => readPairImport("a/b")).to.throw(/a\/b@<consumer context>,<provider context>/);
    expect(readSingleImport("a/demo@x")).to.deep.equal({ id: "a/demo", cluster: { context: "x" } });
    expect(readSingleImport("a/demo").cluster).to.equal(undefined);
  });
});
