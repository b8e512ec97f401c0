import { expect } from "chai";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";

const REQUIRED = [
  "--foreign-cluster-id=p",
  "--home-cluster-id=c",
  "--nodename=node",
  "--node-ip=10.0.0.1",
  "--tenant-namespace=t",
  "--foreign-kubeconfig-secret-name=s",
];

describe("arguments of a virtual node", () => {
  it("reads both ways of writing values, repeated ones, and leaves unknown ones aside", () => {
    const extra = ["--local-podcidr", "10.0.0.0/16", "--local-podcidr=10.1.0.0/16", "--create-node=false"];
    const unknown = [
      "--certificate-type=aws",
      "--metrics-enabled",
      "--node-extra-labels=a=b",
      "--event-reflection-workers=0",
    ];
    const config = parseVirtualNodeArguments([...REQUIRED, ...extra, ...unknown], { VIRTUALNODE_NAME: "vn" });
    expect(config).to.include({ virtualNodeName: "vn", createNode: false, checkNetwork: true, kubeletPort: 10250 });
    expect(config).to.deep.include({ metricsAddress: ":5872", nodeExtraLabels: { a: "b" } });
    expect(config.localPodCidrs).to.deep.equal(["10.0.0.0/16", "10.1.0.0/16"]);
    expect(config.reflection["event"]).to.deep.equal({ workers: 0, policy: "DenyList" });
  });

  it("lets slices follow their Services' policy", () => {
    const { reflection } = parseVirtualNodeArguments([...REQUIRED, "--service-reflection-type=AllowList"], {});
    expect(reflection["endpointslice"]?.policy).to.equal("AllowList");
    expect(reflection["secret"]?.policy).to.equal("DenyList");
  });

  it("reads which objects are chosen by their labels, and lets slices follow their Services", () => {
    const selectors = ["--ingress-reflection-selector=!solver", "--service-reflection-selector=tier in (front,edge)"];
    const { reflection } = parseVirtualNodeArguments([...REQUIRED, ...selectors], {});
    expect(reflection).to.deep.include({
      ingress: { workers: 3, policy: "DenyList", selector: "!solver" },
      service: { workers: 3, policy: "DenyList", selector: "tier in (front,edge)" },
      endpointslice: { workers: 3, policy: "DenyList", selector: "tier in (front,edge)" },
      secret: { workers: 3, policy: "DenyList" },
    });
  });

  it("reads custom resources, each with its own settings", () => {
    const extra = [
      "--reflect-resource=widgets.v1.example.com/Widget",
      "--widgets.example.com-reflection-workers=1",
      "--widgets.example.com-reflection-selector=tier!=back",
      "--reflect-resource=gadgets.v1beta1.a.example.org/Gadget",
      "--gadgets.a.example.org-reflection-type=AllowList",
    ];
    const config = parseVirtualNodeArguments([...REQUIRED, ...extra], {});
    expect(config.customResources).to.deep.equal([
      { plural: "widgets", version: "v1", group: "example.com", kind: "Widget" },
      { plural: "gadgets", version: "v1beta1", group: "a.example.org", kind: "Gadget" },
    ]);
    expect(config.reflection).to.deep.include({
      "widgets.example.com": { workers: 1, policy: "DenyList", selector: "tier!=back" },
      "gadgets.a.example.org": { workers: 3, policy: "AllowList" },
    });
  });

  it("takes no resource of Kubernetes or Liqo, and none that is not named completely", () => {
    const bad = [
      "deployments.v1.apps/Deployment",
      "roles.v1.rbac.authorization.k8s.io/Role",
      "shadowpods.v1beta1.offloading.liqo.io/ShadowPod",
      "things.v1.liqo.io/Thing",
      "widgets.example.com/Widget",
      "widgets.v1.example.com",
      "widgets.v1.example.com/Widget/x",
    ];
    for (const one of bad)
      expect(() => parseVirtualNodeArguments([...REQUIRED, `--reflect-resource=${one}`], {}), one).to.throw(
        `--reflect-resource: "${one}" is not of the form`,
      );
  });

  it("names everything that is wrong", () => {
    const bad = [
      "--nodename=n",
      "--create-node=maybe",
      "--secret-reflection-type=All",
      "--node-extra-labels=a",
      "--event-reflection-selector=a=b",
    ];
    expect(() => parseVirtualNodeArguments(bad, {}))
      .to.throw("--foreign-cluster-id is missing")
      .with.property("message")
      .that.contains("--create-node")
      .and.contains("--secret-reflection-type")
      .and.contains("--node-extra-labels")
      .and.contains("--event-reflection-selector: a selector is for service, ingress, configmap, secret only");
  });
});
