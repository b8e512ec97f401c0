import { expect } from "chai";
import { offeredLabels } from "../../../agent/controller/offloading/offered-labels.js";

describe("labels that a provider offers for its node", () => {
  it("are taken when they describe the provider, or mean nothing to the cluster itself", () => {
    const labels = {
      "liqo.io/provider": "kind",
      "topology.kubernetes.io/region": "north",
      "topology.kubernetes.io/zone": "north-1",
      "node.kubernetes.io/instance-type": "m5.large",
      "kubernetes.io/arch": "arm64",
      "example.com/tier": "gold",
      environment: "",
    };
    expect(offeredLabels(labels)).to.deep.equal({ accepted: labels, refused: [] });
    expect(offeredLabels()).to.deep.equal({ accepted: {}, refused: [] });
  });

  for (const key of [
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "alpha.service-controller.kubernetes.io/exclude-balancer",
    "kubernetes.io/role",
    "kubernetes.io/hostname",
    "something.k8s.io/x",
    "liqo.io/type",
    "liqo.io/remote-cluster-id",
    "storage.liqo.io/available",
    "type",
  ]) {
    it(`are refused where they would decide something here: ${key}`, () => {
      expect(offeredLabels({ [key]: "false" })).to.deep.equal({ accepted: {}, refused: [key] });
    });
  }

  it("are refused where Kubernetes would refuse the node for them", () => {
    const long = "x".repeat(64);
    const keys = [
      "",
      "/a",
      "a/",
      "a/b/c",
      "-a",
      "a b",
      "Upper.example/a",
      `${"a.".repeat(130)}b/c`,
      long,
      "__proto__ ",
    ];
    for (const key of keys) expect(offeredLabels({ [key]: "v" }).refused, key).to.deep.equal([key]);
    for (const value of ["a b", "-", long, "ü"])
      expect(offeredLabels({ key: value }).refused, value).to.deep.equal(["key"]);
  });
});
