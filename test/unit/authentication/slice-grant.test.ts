import { expect } from "chai";
import type { Node } from "kubernetes-types/core/v1";
import {
  ResourceSliceResource,
  TenantResource,
  type ResourceSliceStatus,
  type TenantSpec,
} from "../../../agent/api/index.js";
import { architectureChanges, architectureLabels } from "../../../agent/controller/authentication/own-architecture.js";
import { answerResources, withSliceCondition } from "../../../agent/controller/authentication/slice-grant.js";
import { parseControllerArguments } from "../../../agent/controller/arguments.js";

const CONFIG = {
  ...parseControllerArguments(["--cluster-id=p"], {}),
  ingressClasses: ["nginx;default", "traefik"],
  loadBalancerClasses: ["first", "second"],
  clusterLabels: { zone: "z" },
};
const CLASSES = [
  { metadata: { name: "b", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } }, provisioner: "x" },
  { metadata: { name: "a" }, provisioner: "x" },
];

function offByArguments(): Pick<typeof CONFIG, "defaultSliceClassEnabled"> {
  const { defaultSliceClassEnabled } = parseControllerArguments(
    ["--cluster-id=p", "--default-resource-slice-class-enabled=false"],
    {},
  );
  return { defaultSliceClassEnabled };
}

function slice(spec: object): ReturnType<typeof ResourceSliceResource.build> {
  return ResourceSliceResource.build({ metadata: { name: "s" }, spec });
}

function answer(
  spec: object,
  tenant: TenantSpec["tenantCondition"],
  status: ResourceSliceStatus = {},
  nodes: Node[] = [],
): ResourceSliceStatus {
  const owner = TenantResource.build({
    metadata: {},
    spec: { clusterID: "c", authzPolicy: "KeysExchange", tenantCondition: tenant },
  });
  return answerResources(status, slice(spec), owner, CONFIG, { storageClasses: CLASSES, nodes });
}

describe("the built-in slice class", () => {
  it("grants what is asked for and defaults for the rest, with this cluster's classes and labels", () => {
    const status = answer({ resources: { cpu: 20, "example.com/gpu": "2" } }, "Active");
    expect(status.resources).to.deep.equal({
      cpu: 20,
      memory: "8Gi",
      pods: "110",
      "ephemeral-storage": "20Gi",
      "example.com/gpu": "2",
    });
    expect(status.storageClasses).to.deep.equal([{ storageClassName: "a" }, { storageClassName: "b", default: true }]);
    expect(status.ingressClasses).to.deep.equal([
      { ingressClassName: "nginx", default: true },
      { ingressClassName: "traefik" },
    ]);
    expect(status.loadBalancerClasses?.[0]).to.deep.equal({ loadBalancerClassName: "first", default: true });
    expect(status.nodeLabels).to.deep.equal({ zone: "z" });
    expect(status.conditions?.[0]).to.include({
      type: "Resources",
      status: "Accepted",
      reason: "ResourceSliceResourcesAccepted",
    });
  });

  it("leaves slices of its own class to another controller where it is switched off", () => {
    const owner = TenantResource.build({ metadata: {}, spec: { clusterID: "c", tenantCondition: "Active" } });
    const off = { ...CONFIG, ...offByArguments() };
    const cluster = { storageClasses: CLASSES, nodes: [] };
    expect(answerResources({}, slice({ class: "default" }), owner, off, cluster)).to.deep.equal({});
    expect(answerResources({}, slice({}), owner, CONFIG, cluster).conditions?.[0]?.status).to.equal("Accepted");
  });

  it("tells the architecture of the cluster's nodes where it is one, and not what is assumed anyway; the administrator's word counts more", () => {
    const labels = (...nodes: Node[]) => answer({}, "Active", {}, nodes).nodeLabels;
    expect(labels(node("arm64"), node("arm64"))).to.deep.equal({ zone: "z", "kubernetes.io/arch": "arm64" });
    expect(labels(node("amd64"))).to.deep.equal({ zone: "z" });
    const config = { ...CONFIG, clusterLabels: { "kubernetes.io/arch": "riscv64" } };
    const owner = TenantResource.build({ metadata: {}, spec: { clusterID: "c", authzPolicy: "KeysExchange" } });
    const told = answerResources({}, slice({}), owner, config, { storageClasses: [], nodes: [node("arm64")] });
    expect(told.nodeLabels).to.deep.equal({ "kubernetes.io/arch": "riscv64" });
  });

  it("computes anew: what is no longer asked for goes", () => {
    const before = answer({ resources: { "example.com/gpu": "2" } }, "Active");
    expect(answer({ resources: {} }, "Active", before).resources).not.to.have.property("example.com/gpu");
  });

  it("leaves other classes to their controllers", () => {
    expect(answer({ class: "special" }, "Active")).to.deep.equal({});
  });

  it("denies new slices of a cordoned tenant and keeps accepted ones", () => {
    expect(answer({}, "Cordoned").conditions?.[0]?.status).to.equal("Denied");
    const accepted = answer({}, "Active");
    expect(answer({ resources: { cpu: "9" } }, "Cordoned", accepted)).to.equal(accepted);
  });

  it("denies every slice of a drained tenant, of whatever class", () => {
    expect(answer({ class: "special" }, "Drained", answer({}, "Active")).conditions?.[0]?.status).to.equal("Denied");
  });
});

describe("the architecture that a cluster tells its consumers", () => {
  const controlPlane = [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" as const }];
  const cordoned = { unschedulable: true };
  const cases: [what: string, nodes: Node[], told: string | undefined][] = [
    ["no node", [], undefined],
    ["nodes of one", [node("arm64"), node("arm64")], "arm64"],
    ["nodes of what is assumed", [node("amd64"), node("amd64")], undefined],
    ["nodes of several", [node("arm64"), node("amd64")], undefined],
    ["a node that says nothing", [node("arm64"), node()], undefined],
    ["nodes of which none says anything", [node()], undefined],
    ["a virtual node of another", [node("arm64"), node("amd64", {}, { "liqo.io/type": "virtual-node" })], "arm64"],
    ["virtual nodes alone", [node("arm64", {}, { "liqo.io/type": "virtual-node" })], undefined],
    ["a cordoned node of another", [node("arm64"), node("amd64", cordoned)], "arm64"],
    ["a control plane of another", [node("arm64"), node("amd64", { taints: controlPlane })], "arm64"],
    ["a control plane that takes pods", [node("arm64"), node("amd64")], undefined],
    ["cordoned nodes alone", [node("arm64", cordoned), node("arm64", { taints: controlPlane })], "arm64"],
    ["a node of another that is not ready", [node("arm64"), node("amd64", { taints: notReady() })], undefined],
  ];
  for (const [what, nodes, told] of cases)
    it(`${what}: ${told ?? "none"}`, () => expect(architectureLabels(nodes)["kubernetes.io/arch"]).to.equal(told));

  it("is looked at again when a node comes, goes or changes in it, and is news when it is another", () => {
    let nodes: Node[] = [];
    let looks = 0;
    const isNews = architectureChanges({
      list: () => {
        looks += 1;
        return nodes;
      },
    });
    const added = (object: Node): boolean => {
      nodes = [...nodes, object];
      return isNews({ type: "added", object });
    };
    const [first, second, other] = [node("arm64"), node("arm64"), node("amd64")];
    expect([added(first), added(second), added(other)]).to.deep.equal([true, false, true]);
    nodes = [first, second];
    expect(isNews({ type: "deleted", object: other })).to.equal(true);
    const before = looks;
    // As each node's kubelet does all the time.
    const alive = { ...second, status: { conditions: [{ type: "Ready", status: "True" }] } };
    nodes = [first, alive];
    expect(isNews({ type: "updated", old: second, object: alive })).to.equal(false);
    expect(looks).to.equal(before);
    const changed = node("amd64");
    nodes = [first, changed];
    expect(isNews({ type: "updated", old: alive, object: changed })).to.equal(true);
    nodes = [first, { ...changed, spec: cordoned }];
    expect(isNews({ type: "updated", old: changed, object: nodes[1] ?? {} })).to.equal(true);
  });

  function notReady() {
    return [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const }];
  }
});

function node(architecture?: string, spec: Node["spec"] = {}, labels: Record<string, string> = {}): Node {
  return {
    metadata: { labels: { ...labels, ...(architecture ? { "kubernetes.io/arch": architecture } : {}) } },
    spec,
  };
}

describe("slice conditions", () => {
  it("move their time when status, reason or message changes, and only then", () => {
    const at = "2020-01-01T00:00:00Z";
    const value = { type: "Resources" as const, accepted: false, message: "one" };
    const first = withSliceCondition({}, value);
    const old = { conditions: first.conditions?.map((condition) => ({ ...condition, lastTransitionTime: at })) };
    expect(withSliceCondition(old, value).conditions?.[0]?.lastTransitionTime).to.equal(at);
    expect(withSliceCondition(old, { ...value, message: "two" }).conditions?.[0]?.lastTransitionTime).not.to.equal(at);
  });
});
