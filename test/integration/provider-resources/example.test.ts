import * as pulumi from "@pulumi/pulumi";
import { expect } from "chai";
import { compileExample, type CompiledExample } from "../../support/example.js";

interface Program {
  peerTwoClusters(options: object): Record<string, pulumi.Output<unknown>>;
}

/** The example and the generated SDK on a mocked engine: what they ask for, and what comes back. */
describe("the example peer-two-clusters", function () {
  this.timeout(60_000);
  const registered: pulumi.runtime.MockResourceArgs[] = [];
  let example: CompiledExample;

  before(async () => {
    example = await compileExample("peer-two-clusters");
    await pulumi.runtime.setMocks({
      newResource: (resource) => {
        registered.push(resource);
        const inputs = resource.inputs as Record<string, unknown>;
        return {
          id: resource.name,
          state: { ...inputs, virtualNodeName: "provider", remoteNamespace: "demo-consumer" },
        };
      },
      call: () => ({}),
    });
  });
  after(async () => example?.remove());

  it("asks for two agents, a peering and an offloaded namespace, and gives their outputs", async () => {
    const outputs = example.load<Program>("program").peerTwoClusters({
      consumer: { kubeconfig: "c", clusterId: "consumer" },
      provider: { kubeconfig: "p", context: "x", clusterId: "provider" },
      namespace: "demo",
    });
    const node = await new Promise((resolve) => outputs["virtualNodeName"]?.apply(resolve));
    const remote = await new Promise((resolve) => outputs["remoteNamespace"]?.apply(resolve));
    expect([node, remote]).to.deep.equal(["provider", "demo-consumer"]);
    const types = registered.map(({ type }) => type).filter((type) => type.startsWith("liqo:"));
    expect(types.sort()).to.deep.equal([
      "liqo:index:Agent",
      "liqo:index:Agent",
      "liqo:index:NamespaceOffloading",
      "liqo:index:Peering",
    ]);
    const agent = registered.find(({ name }) => name === "provider");
    expect(agent?.inputs).to.deep.include({ clusterId: "provider" });
  });
});
