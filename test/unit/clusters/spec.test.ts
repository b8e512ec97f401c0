import { expect } from "chai";
import fc from "fast-check";
import type { ClusterSpec } from "../../clusters/index.js";
import { addressIn, completeSpec, differences, nodePodCIDR } from "../../clusters/spec.js";

describe("test clusters: specification", () => {
  it("fills in defaults that differ from cluster to cluster", () => {
    const first = completeSpec({ name: "consumer" }, 1);
    const second = completeSpec({ name: "provider" }, 2);
    expect(first).to.include({ nodes: 1, podCIDR: "10.201.0.0/16", serviceCIDR: "10.91.0.0/16" });
    expect(second).to.include({ nodes: 1, podCIDR: "10.202.0.0/16", serviceCIDR: "10.92.0.0/16" });
    expect(first.kubernetesVersion).to.match(/^v1\.\d+\.\d+$/);
  });

  for (const [property, spec] of Object.entries({
    name: { name: "Upper" },
    nodes: { name: "a", nodes: 0 },
    podCIDR: { name: "a", podCIDR: "10.0.0.0/24" },
    serviceCIDR: { name: "a", serviceCIDR: "10.0.0.256/16" },
    kubernetesVersion: { name: "a", kubernetesVersion: "1.36" },
    cni: { name: "a", cni: "other" },
    kubeProxy: { name: "a", kubeProxy: "ipvs" },
    nodeGraceSeconds: { name: "a", nodeGraceSeconds: 5 },
  } as unknown as Record<string, ClusterSpec>)) {
    it(`names the property that is wrong: ${property}`, () => {
      expect(() => completeSpec(spec, 1)).to.throw(`cluster ${spec.name}: ${property}: `);
    });
  }

  it("compares only what was asked for", () => {
    const running = completeSpec({ name: "a", nodes: 2 }, 1);
    expect(differences(running, { name: "a" })).to.deep.equal([]);
    expect(differences(running, { name: "a", nodes: 2, podCIDR: "10.201.0.0/16" })).to.deep.equal([]);
    expect(differences(running, { name: "a", cni: "vxlan" })).to.deep.equal(["cni is bridge, not vxlan"]);
    expect(differences(running, { name: "a", nodes: 3 })).to.deep.equal(["nodes is 2, not 3"]);
  });

  it("counts addresses across octets", () => {
    expect(addressIn("10.96.0.0/16", 10)).to.equal("10.96.0.10");
    expect(addressIn("10.96.255.250/16", 10)).to.equal("10.97.0.4");
    fc.assert(
      fc.property(fc.nat(0xffff), (n) => {
        const octets = addressIn("10.20.0.0/16", n).split(".").map(Number);
        return octets[0] === 10 && octets[1] === 20 && (octets[2] ?? 0) * 256 + (octets[3] ?? 0) === n;
      }),
    );
  });

  it("gives each node a /24 of the cluster's pod network", () => {
    expect([0, 1, 15].map((i) => nodePodCIDR("10.201.0.0/16", i))).to.deep.equal([
      "10.201.0.0/24",
      "10.201.1.0/24",
      "10.201.15.0/24",
    ]);
  });
});
