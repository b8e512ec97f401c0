import { expect } from "chai";
import { VirtualNodeResource, type NamespaceMapPhase, type VirtualNode } from "../../../agent/api/index.js";
import { matchesNodeSelector, mayMatchNodeSelector } from "../../../agent/controller/offloading/node-selector.js";
import { remoteNamespaceName } from "../../../agent/controller/offloading/namespace-offloading/remote-name.js";
import {
  selectedClusters,
  type FormerSelection,
} from "../../../agent/controller/offloading/namespace-offloading/selection.js";
import {
  clusterConditions,
  offloadingPhase,
  type ClusterState,
} from "../../../agent/controller/offloading/namespace-offloading/status.js";

describe("remoteNamespaceName", () => {
  it("follows the strategy", () => {
    expect(remoteNamespaceName("app", {}, "me")).to.equal("app-me");
    expect(remoteNamespaceName("app", { namespaceMappingStrategy: "EnforceSameName" }, "me")).to.equal("app");
    const selected = { namespaceMappingStrategy: "SelectedName" as const, remoteNamespaceName: "other" };
    expect(remoteNamespaceName("app", selected, "me")).to.equal("other");
  });
});

describe("matchesNodeSelector", () => {
  const node = { name: "n", labels: { zone: "a", size: "5" } };
  const matches = (key: string, operator: string, ...values: string[]) =>
    matchesNodeSelector([{ matchExpressions: [{ key, operator, values }] }], node);

  it("knows every operator", () => {
    expect(matches("zone", "In", "a", "b") && matches("zone", "Exists") && matches("none", "DoesNotExist")).to.equal(
      true,
    );
    expect(matches("zone", "NotIn", "b") && matches("none", "NotIn", "b")).to.equal(true);
    expect(matches("size", "Gt", "4") && matches("size", "Lt", "6")).to.equal(true);
    expect(matches("zone", "NotIn", "a") || matches("none", "In", "a") || matches("zone", "Gt", "1")).to.equal(false);
    expect(matches("zone", "Unknown", "a")).to.equal(false);
  });

  it("may match by labels that are not known, and not against those that are", () => {
    const may = (...keys: string[]): boolean =>
      mayMatchNodeSelector([{ matchExpressions: keys.map((key) => ({ key, operator: "In", values: ["a"] })) }], node);
    expect(may("none") && may("zone") && may("zone", "none")).to.equal(true);
    expect(may("size") || may("size", "none")).to.equal(false);
    const named = (name: string) => [{ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] }];
    expect(mayMatchNodeSelector(named("n"), node)).to.equal(true);
    expect(mayMatchNodeSelector(named("m"), node)).to.equal(false);
    expect(mayMatchNodeSelector([{}], node)).to.equal(false);
  });

  it("takes no terms as all nodes, and an empty term as none", () => {
    expect(matchesNodeSelector(undefined, node) && matchesNodeSelector([], node)).to.equal(true);
    expect(matchesNodeSelector([{}], node)).to.equal(false);
  });
});

describe("selectedClusters", () => {
  const never = (): FormerSelection => undefined;
  const now = (): FormerSelection => "by this spec";
  const before = (): FormerSelection => "by a former spec";
  const virtualNode = (name: string, clusterID: string, labels = {}): VirtualNode =>
    VirtualNodeResource.build({ metadata: { name, namespace: "tn" }, spec: { clusterID, labels } });
  const spec = {
    clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] },
  };

  it("selects a cluster if any of its nodes matches, in whatever order", () => {
    const nodes = [
      virtualNode("one", "p", { zone: "a" }),
      virtualNode("two", "p", { zone: "b" }),
      virtualNode("three", "q"),
    ];
    for (const list of [nodes, [...nodes].reverse()]) {
      expect(Object.fromEntries(selectedClusters(spec, list, () => undefined, never))).to.deep.equal({
        p: true,
        q: false,
      });
    }
  });

  it("prefers the labels of the Node once it is there", () => {
    const node = () => ({ metadata: { labels: { zone: "b" } } });
    expect(selectedClusters(spec, [virtualNode("one", "p", { zone: "a" })], node, never).get("p")).to.equal(false);
  });

  it("keeps a cluster while a Node is away by whose labels it was selected, and none that is given up", () => {
    const isSelected = (virtualNodes: VirtualNode[], formerly: () => FormerSelection): boolean | undefined =>
      selectedClusters(spec, virtualNodes, () => undefined, formerly).get("p");
    const one = virtualNode("one", "p");
    expect(isSelected([one], now)).to.equal(true);
    expect(isSelected([one], never)).to.equal(false);
    const without = { ...one, spec: { ...one.spec, createNode: false } };
    expect(isSelected([without], now), "it is to have no Node").to.equal(false);
    const ending = { ...one, metadata: { ...one.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(isSelected([ending], now)).to.equal(false);
    const back = () => ({ metadata: { labels: { zone: "b" } } });
    expect(selectedClusters(spec, [one], back, now).get("p"), "it says so itself").to.equal(false);
  });

  it("keeps it also when the user wants something else meanwhile, unless it cannot be that", () => {
    const isSelected = (key: string, operator: string, ...values: string[]): boolean | undefined => {
      const nodeSelectorTerms = [{ matchExpressions: [{ key, operator, values }] }];
      const one = virtualNode("one", "p", { zone: "a" });
      return selectedClusters({ clusterSelector: { nodeSelectorTerms } }, [one], () => undefined, before).get("p");
    };
    expect(isSelected("rack", "In", "7"), "it may have been labelled by hand").to.equal(true);
    expect(isSelected("zone", "In", "b"), "its virtual node says otherwise").to.equal(false);
    expect(isSelected("liqo.io/type", "NotIn", "virtual-node")).to.equal(false);
    const other = {
      clusterSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "rack", operator: "Exists" }] }] },
    };
    expect(selectedClusters(other, [virtualNode("one", "p")], () => undefined, never).get("p")).to.equal(false);
    const back = () => ({ metadata: { labels: { zone: "a" } } });
    expect(selectedClusters(other, [virtualNode("one", "p")], back, before).get("p"), "it is back").to.equal(false);
  });

  it("knows the labels that its options add to a Node before it is there, and while it is away", () => {
    const options = (zone: string) => () => ({ zone });
    const isSelected = (
      formerly: () => FormerSelection,
      labels: () => Record<string, string> | undefined,
      own = {},
    ): boolean | undefined =>
      selectedClusters(spec, [virtualNode("one", "p", own)], () => undefined, formerly, labels).get("p");
    expect(isSelected(never, options("a"))).to.equal(true);
    expect(isSelected(never, options("b"))).to.equal(false);
    expect(isSelected(never, options("a"), { zone: "b" }), "the virtual node's own go first").to.equal(false);
    expect(isSelected(before, options("b")), "it cannot be that").to.equal(false);
    expect(
      isSelected(before, () => undefined),
      "they cannot be known",
    ).to.equal(true);
  });

  it("knows that a Node is a virtual one before it is there", () => {
    const nodeSelectorTerms = [
      { matchExpressions: [{ key: "liqo.io/type", operator: "In", values: ["virtual-node"] }] },
    ];
    const virtual = { clusterSelector: { nodeSelectorTerms } };
    expect(selectedClusters(virtual, [virtualNode("one", "p")], () => undefined, never).get("p")).to.equal(true);
  });
});

describe("status of a NamespaceOffloading", () => {
  const phaseOf = (...states: [boolean, NamespaceMapPhase | undefined][]) => {
    const clusters = new Map<string, ClusterState>(
      states.map(([selected, phase], index) => [`c${index}`, { selected, phase }]),
    );
    return offloadingPhase(clusterConditions(clusters), false);
  };

  it("sums up by the first phase that fits", () => {
    expect(phaseOf()).to.equal("NoClusterSelected");
    expect(phaseOf([false, undefined], [false, "Terminating"])).to.equal("NoClusterSelected");
    expect(phaseOf([true, "Accepted"], [false, undefined])).to.equal("Ready");
    expect(phaseOf([true, "CreationLoopBackOff"])).to.equal("AllFailed");
    expect(phaseOf([true, "Accepted"], [true, "CreationLoopBackOff"])).to.equal("SomeFailed");
    expect(phaseOf([true, "Accepted"], [true, undefined])).to.equal("InProgress");
    expect(offloadingPhase({}, true)).to.equal("Terminating");
  });

  it("keeps the time of a condition whose status stays", () => {
    const old = "2026-01-01T00:00:00Z";
    const before = clusterConditions(new Map([["c", { selected: true, phase: undefined }]]));
    for (const condition of before["c"] ?? []) condition.lastTransitionTime = old;
    const [required, ready] =
      clusterConditions(new Map([["c", { selected: true, phase: "Accepted" }]]), before)["c"] ?? [];
    expect(required?.lastTransitionTime).to.equal(old);
    expect(ready).to.include({ status: "True", reason: "NamespaceCreated" });
    expect(ready?.lastTransitionTime).not.to.equal(old);
  });
});
