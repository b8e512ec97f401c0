import { expect } from "chai";
import {
  NamespaceOffloadingPolicyResource,
  NamespaceOffloadingResource,
  type LabelSelector,
  type NamespaceOffloading,
  type NamespaceOffloadingPolicy,
  type NamespaceOffloadingSpec,
} from "../../../agent/api/index.js";
import { matchesLabelSelector } from "../../../agent/controller/offloading/label-selector.js";
import { isAsDesired, offloadingOf } from "../../../agent/controller/offloading/namespace-offloading-policy/desired.js";
import {
  planFor,
  type LeftOut,
  type Surroundings,
} from "../../../agent/controller/offloading/namespace-offloading-policy/plan.js";
import { policyStatus } from "../../../agent/controller/offloading/namespace-offloading-policy/status.js";

const DELETED = "2026-01-01T00:00:00Z";
const ALL: LabelSelector = {};

describe("a label selector", () => {
  const matches = (selector: LabelSelector, labels?: Record<string, string>): boolean =>
    matchesLabelSelector(selector, labels);

  it("matches what has all that it asks for, and everything when it asks for nothing", () => {
    expect(matches({})).to.equal(true);
    const both = { matchLabels: { team: "a" }, matchExpressions: [{ key: "tier", operator: "Exists" as const }] };
    expect(matches(both, { team: "a", tier: "" })).to.equal(true);
    expect(matches(both, { team: "a" })).to.equal(false);
    expect(matches(both, { team: "b", tier: "" })).to.equal(false);
  });

  it("takes a label that is not there as not in any list", () => {
    const one = (operator: "In" | "NotIn" | "Exists" | "DoesNotExist", labels?: Record<string, string>): boolean =>
      matches({ matchExpressions: [{ key: "team", operator, values: ["a", "b"] }] }, labels);
    expect(one("In", { team: "b" })).to.equal(true);
    expect(one("In", { team: "c" })).to.equal(false);
    expect(one("In")).to.equal(false);
    expect(one("NotIn", { team: "b" })).to.equal(false);
    expect(one("NotIn")).to.equal(true);
    expect(one("DoesNotExist", { team: "a" })).to.equal(false);
    expect(one("DoesNotExist", { other: "a" })).to.equal(true);
  });
});

describe("the plan for a NamespaceOffloadingPolicy", () => {
  const policy = (name: string, namespaceSelector = ALL, metadata: object = {}): NamespaceOffloadingPolicy =>
    NamespaceOffloadingPolicyResource.build({
      metadata: { name, uid: `uid-of-${name}`, ...metadata },
      spec: { namespaceSelector, template: { spec: {} } },
    });
  const offloading = (namespace: string, madeBy?: string, metadata: object = {}): NamespaceOffloading =>
    NamespaceOffloadingResource.build({
      metadata: {
        name: "offloading",
        namespace,
        labels: madeBy ? { "offloading.liqo.io/policy": madeBy } : {},
        ...metadata,
      },
      spec: {},
    });
  const named = (...names: string[]) => names.map((name) => ({ metadata: { name } }));

  function plan(
    one: NamespaceOffloadingPolicy,
    { namespaces = [], policies = [], offloadings = [] }: Partial<Record<keyof Surroundings, unknown[]>>,
  ) {
    const present = offloadings as NamespaceOffloading[];
    const { selected, wanted, unwanted, leftOut } = planFor(one, {
      namespaces: namespaces as Surroundings["namespaces"],
      policies: [one, ...(policies as NamespaceOffloadingPolicy[])],
      offloadings: {
        list: () => present,
        find: (namespace) => present.find(({ metadata }) => metadata.namespace === namespace),
      },
      agentNamespace: "agents-own",
    });
    return {
      selected,
      wanted: wanted.map(({ namespace }) => namespace),
      unwanted: unwanted.map(({ metadata }) => metadata.namespace),
      leftOut: Object.fromEntries(leftOut.map(({ namespace, reason }) => [namespace, reason])),
    };
  }

  it("is one NamespaceOffloading for each namespace selected, never for those that are not the user's", () => {
    const namespaces = [
      ...named("kube-system", "kube-public", "kube-node-lease", "agents-own", "liqo-storage", "shop", "default"),
      { metadata: { name: "liqo-tenant-peer", labels: { "liqo.io/tenant-namespace": "true" } } },
      { metadata: { name: "app-peer", annotations: { "liqo.io/managed-by-namespace-map": "liqo-tenant-peer/peer" } } },
      { metadata: { name: "ending", deletionTimestamp: DELETED } },
    ];
    expect(plan(policy("p"), { namespaces })).to.deep.equal({
      selected: 2,
      wanted: ["default", "shop"],
      unwanted: [],
      leftOut: {},
    });
  });

  it("leaves alone what the policy has not made", () => {
    const offloadings = [offloading("hand"), offloading("other", "q"), offloading("own", "p")];
    expect(plan(policy("p"), { namespaces: named("hand", "other", "own", "new"), offloadings })).to.deep.equal({
      selected: 4,
      wanted: ["new", "own"],
      unwanted: [],
      leftOut: { hand: "MadeByHand", other: "OtherPolicy" },
    });
  });

  it("waits for what is being deleted, whoever made it", () => {
    const deletionTimestamp = DELETED;
    const offloadings = [
      offloading("a", "p", { deletionTimestamp }),
      offloading("b", undefined, { deletionTimestamp }),
    ];
    const { wanted, leftOut } = plan(policy("p"), { namespaces: named("a", "b"), offloadings });
    expect({ wanted, leftOut }).to.deep.equal({ wanted: [], leftOut: { a: "Ending", b: "Ending" } });
  });

  it("gives a new namespace to the first policy by name that would take it", () => {
    const namespaces = named("a");
    expect(plan(policy("p"), { namespaces, policies: [policy("o")] }).leftOut).to.deep.equal({ a: "OtherPolicy" });
    for (const others of [
      [policy("q")],
      [policy("o", { matchLabels: { x: "y" } })],
      [policy("o", ALL, { deletionTimestamp: DELETED })],
    ]) {
      expect(plan(policy("p"), { namespaces, policies: others }).wanted).to.deep.equal(["a"]);
    }
  });

  it("ends the policy's own NamespaceOffloadings of namespaces that match no more", () => {
    const namespaces = [...named("other", "own"), { metadata: { name: "ending", deletionTimestamp: DELETED } }];
    const offloadings = [
      offloading("other", "q"),
      offloading("own", "p"),
      offloading("ending", "p"),
      offloading("gone", "p"),
    ];
    const none = policy("p", { matchLabels: { x: "y" } });
    expect(plan(none, { namespaces, offloadings }).unwanted).to.deep.equal(["own"]);
  });

  it("is carried out where nothing of it is missing, whatever else is there", () => {
    const template = { metadata: { labels: { a: "1" }, annotations: { b: "2" } }, spec: {} };
    const one = { ...policy("p"), spec: { namespaceSelector: ALL, template } };
    const desired = offloadingOf(one, "app");
    const present = offloading("app", "p", {
      labels: { ...desired.metadata?.labels, more: "3" },
      annotations: { ...desired.metadata?.annotations, more: "4" },
      ownerReferences: desired.metadata?.ownerReferences,
    });
    const spec: NamespaceOffloadingSpec = {
      namespaceMappingStrategy: "DefaultName",
      podOffloadingStrategy: "LocalAndRemote",
      clusterSelector: { nodeSelectorTerms: [] },
    };
    const has = (changed: { metadata?: object; spec?: object }): boolean => {
      const metadata = { ...present.metadata, ...changed.metadata };
      return isAsDesired({ ...present, metadata, spec: { ...spec, ...changed.spec } }, desired);
    };
    expect(has({})).to.equal(true);
    expect(has({ spec: { podOffloadingStrategy: "Remote" } })).to.equal(false);
    expect(has({ spec: { clusterSelector: { nodeSelectorTerms: [{}] } } })).to.equal(false);
    expect(has({ metadata: { labels: {} } })).to.equal(false);
    expect(has({ metadata: { annotations: undefined } })).to.equal(false);
    const less = { ...one, spec: { ...one.spec, template: { spec: {} } } };
    expect(isAsDesired({ ...present, spec }, offloadingOf(less, "app")), "the end of a label").to.equal(false);
    expect(has({ metadata: { ownerReferences: undefined } })).to.equal(false);
  });

  it("is told in the status: the worst first, what was made by hand as it should be", () => {
    const left = (namespace: string, reason: LeftOut["reason"]): LeftOut => ({ namespace, reason, message: "why" });
    const told = (...leftOut: LeftOut[]) => {
      const [condition] = policyStatus(policy("p"), { selected: 3, offloaded: 1, leftOut }).conditions ?? [];
      return [condition?.status, condition?.reason, condition?.message];
    };
    expect(told().slice(0, 2)).to.deep.equal(["True", "Applied"]);
    expect(told(left("a", "MadeByHand"))).to.deep.equal(["True", "MadeByHand", "namespace a: why"]);
    expect(told(left("a", "MadeByHand"), left("b", "Refused"), left("c", "OtherPolicy"))).to.deep.equal([
      "False",
      "Refused",
      "namespace b: why; namespace c: why; namespace a: why",
    ]);
    const many = Array.from({ length: 25 }, (_, index) => left(`n${index}`, "OtherPolicy"));
    expect(told(...many)[2]).to.match(/^namespace n0: .*namespace n19: why; and 5 more$/);
  });
});
