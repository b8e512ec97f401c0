import { expect } from "chai";
import { partPaths, type Part } from "../../../provider/resources/peering/part-paths.js";

const PATHS = ["mtu", "gatewayServer.port", "consumer.kubeconfig", "cpu", "resources", "resourceSliceClass"];

describe("property paths of a Peering", () => {
  const paths = (type: Part["type"], of: Part["of"], ...given: string[]) => partPaths(given, { type, of });

  it("are those of its parts, by the names that they have there", () => {
    expect(paths("NetworkLink", "forward", ...PATHS)).to.deep.equal([
      "mtu",
      "gatewayServer.port",
      "consumer.kubeconfig",
    ]);
    expect(paths("Authentication", "forward", ...PATHS, "identityKubeconfig", "tenantCondition")).to.deep.equal([
      "consumer.kubeconfig",
      "kubeconfig",
      "tenantCondition",
    ]);
    expect(paths("ResourceSlice", "forward", ...PATHS, "resourceSliceName")).to.deep.equal([
      "consumer.kubeconfig",
      "resources.cpu",
      "resources",
      "class",
      "name",
    ]);
    expect(paths("ResourceSlice", "forward", 'resources["example.com/gpu"]', "constructor")).to.deep.equal([
      'resources["example.com/gpu"]',
    ]);
  });

  it("of the other direction are what is said of it, and what is shared, with the clusters the other way round", () => {
    const given = ["reverse.cpu", "memory", "reverse.tenantCondition", "tenantCondition", "proxyURL", "provider"];
    expect(paths("ResourceSlice", "reverse", ...given)).to.deep.equal([
      "resources.cpu",
      "resources.memory",
      "consumer",
    ]);
    expect(paths("Authentication", "reverse", ...given)).to.deep.equal(["tenantCondition", "consumer"]);
    expect(paths("Authentication", "forward", ...given)).to.deep.equal(["tenantCondition", "proxyURL", "provider"]);
  });

  it("of further slices are what is shared by all", () => {
    expect(paths("ResourceSlice", "additional", "cpu", "objectLabels.team", "provider")).to.deep.equal([
      "objectLabels.team",
      "provider",
    ]);
  });

  it("may be all at once, or none", () => {
    expect(paths("NetworkLink", "forward", "*")).to.deep.equal(["*"]);
    expect(partPaths(undefined, { type: "NetworkLink", of: "forward" })).to.deep.equal([]);
  });
});
