import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { REPOSITORY } from "../../languages/toolchain.js";
import { faultsOf, type YamlProgram } from "./yaml-program.js";

/** The quick start and every example in YAML. */
function programs(): string[] {
  const examples = readdirSync(path.join(REPOSITORY, "examples"), { recursive: true, encoding: "utf8" })
    .filter((name) => path.basename(name) === "Pulumi.yaml" && !name.includes("node_modules"))
    .map((name) => path.join("examples", name));
  return ["Pulumi.yaml", ...examples].filter((name) => "resources" in read(name));
}

function read(name: string): YamlProgram {
  return parse(readFileSync(path.join(REPOSITORY, name), "utf8")) as YamlProgram;
}

describe("programs in YAML", () => {
  it("are at least the quick start and the example", () => {
    expect(programs()).to.include.members(["Pulumi.yaml", "examples/peer-two-clusters-yaml/Pulumi.yaml"]);
  });

  for (const name of programs()) {
    it(`${name} uses what the schema has`, () => {
      expect(faultsOf(read(name))).to.deep.equal([]);
    });
  }

  it("are told what is wrong with them", () => {
    const program: YamlProgram = {
      variables: { here: { kubeconfig: 1 } },
      resources: {
        a: { type: "liqo:Nothing" },
        b: { type: "liqo:Peering", properties: { consumer: "${here}", gatewayServer: { type: "Nodeport" }, cpus: "2" } },
        c: { type: "liqo:index:NamespaceOffloading", properties: { createNamespace: "yes" } },
      },
      outputs: { node: "${b.virtualNode}" },
    };
    expect(faultsOf(program)).to.have.members([
      "a: there is no liqo:Nothing",
      "b.consumer.kubeconfig: a number, not a string",
      'b.gatewayServer.type: "Nodeport" is not one of them',
      "b.cpus: unknown",
      "c.namespace: missing",
      "c.createNamespace: a string, not a boolean",
      "outputs.node: liqo:Peering has no virtualNode",
    ]);
  });
});
