import { expect } from "chai";
import fc from "fast-check";
import type { NodeSelectorTerm, Pod, PodSpec } from "kubernetes-types/core/v1";
import { matchesNodeSelector, type SelectableNode } from "../../../agent/controller/offloading/node-selector.js";
import {
  crossProduct,
  hasOtherTerms,
  offloadingPatch,
  termsNotePatch,
  termsOf,
  VIRTUAL_NODE_TOLERATION,
} from "../../../agent/controller/webhooks/pod-affinity.js";

type Offloading = Parameters<typeof offloadingPatch>[1];

const virtual = { key: "liqo.io/type", operator: "In", values: ["virtual-node"] };
const notVirtual = { key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] };
const zone = (value: string): NodeSelectorTerm => ({
  matchExpressions: [{ key: "zone", operator: "In", values: [value] }],
});
const named = (name: string): NodeSelectorTerm => ({
  matchFields: [{ key: "metadata.name", operator: "In", values: [name] }],
});

function patched(pod: Partial<PodSpec>, offloading: Parameters<typeof offloadingPatch>[1]): PodSpec {
  const spec: PodSpec = { containers: [], ...pod };
  return offloadingPatch(spec, offloading).reduce(
    (result, { path, value }) => ({ ...result, [path.replace("/spec/", "")]: value }),
    spec,
  );
}

function terms(pod: PodSpec): NodeSelectorTerm[] | undefined {
  return pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
}

describe("offloadingPatch", () => {
  it("leaves pods of strategy Local and of RuntimeClass liqo alone", () => {
    expect(offloadingPatch({ containers: [] }, { podOffloadingStrategy: "Local" })).to.deep.equal([]);
    expect(
      offloadingPatch({ containers: [], runtimeClassName: "liqo" }, { podOffloadingStrategy: "Remote" }),
    ).to.deep.equal([]);
  });

  it("gives only the toleration for LocalAndRemote without a selector", () => {
    const pod = patched({}, { clusterSelector: { nodeSelectorTerms: [] } });
    expect(pod.tolerations).to.deep.equal([VIRTUAL_NODE_TOLERATION]);
    expect(pod.affinity).to.equal(undefined);
  });

  it("keeps a pod with Remote on virtual nodes, keeping its other tolerations and preferences", () => {
    const preferred = [{ weight: 1, preference: zone("a") }];
    const tolerations = [{ key: "other", operator: "Exists" }];
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
    const pod = patched({ tolerations, affinity }, { podOffloadingStrategy: "Remote" });
    expect(pod.tolerations).to.deep.equal([...tolerations, VIRTUAL_NODE_TOLERATION]);
    expect(terms(pod)).to.deep.equal([{ matchExpressions: [virtual] }]);
    expect(pod.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution).to.deep.equal(preferred);
  });

  it("joins each of the pod's terms with each of the namespace's, matchFields too", () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone("a"), named("n")] },
      },
    };
    const pod = patched({ affinity }, { clusterSelector: { nodeSelectorTerms: [zone("b")] } });
    expect(terms(pod)).to.deep.equal([
      { matchExpressions: [...(zone("a").matchExpressions ?? []), ...(zone("b").matchExpressions ?? [])] },
      { matchExpressions: [...(zone("a").matchExpressions ?? []), notVirtual] },
      { matchExpressions: zone("b").matchExpressions, matchFields: named("n").matchFields },
      { matchExpressions: [notVirtual], matchFields: named("n").matchFields },
    ]);
  });

  it("changes nothing the second time but for terms", () => {
    const once = patched({}, {});
    expect(offloadingPatch(once, {})).to.deep.equal([]);
  });
});

describe("terms that a pod was given", () => {
  const KEY = "offloading.liqo.io/cluster-selector-hash";
  const to = (...values: string[]): Offloading => ({ clusterSelector: { nodeSelectorTerms: values.map(zone) } });
  /** As admission lets a pod in. */
  function made(offloading: Offloading, spec: Partial<PodSpec> = {}, annotations?: Record<string, string>): Pod {
    const pod: Pod = { metadata: { annotations }, spec: { containers: [], ...spec } };
    const patch = termsNotePatch(pod, offloading);
    const notes = patch.flatMap(({ op, value }) => (op === "add" ? [value] : []));
    const [note] = notes.map((value) => (typeof value === "string" ? value : (value as Record<string, string>)[KEY]));
    const kept = patch.some(({ op }) => op === "remove") ? {} : annotations;
    return {
      metadata: { annotations: { ...kept, ...(note ? { [KEY]: note } : {}) } },
      spec: patched(spec, offloading),
    };
  }
  const own = {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone("own")] } },
    },
  };

  it("are others once selector or strategy have changed, whatever the pod asks for itself", () => {
    const states: Offloading[] = [
      to(),
      to("a"),
      to("b"),
      to("a", "b"),
      { ...to("a"), podOffloadingStrategy: "Remote" },
    ];
    for (const spec of [{}, own]) {
      for (const before of states)
        for (const now of states) {
          const isOther = hasOtherTerms(made(before, spec), now);
          expect(isOther, JSON.stringify([spec, before, now])).to.equal(before !== now);
        }
    }
  });

  it("are no others where nothing is given any more", () => {
    expect(hasOtherTerms(made(to("a")), { podOffloadingStrategy: "Local" })).to.equal(false);
    expect(hasOtherTerms(made(to("a"), { runtimeClassName: "liqo" }), to("b"))).to.equal(false);
  });

  it("are not those that a template has brought along from another pod", () => {
    const { metadata } = made(to("a"));
    for (const offloading of [to(), to("b")])
      expect(hasOtherTerms(made(offloading, {}, metadata?.annotations), offloading)).to.equal(false);
  });

  it("are told by how the pod's own end, where it was made before they were noted", () => {
    const unnoted = (before: Offloading): Pod => ({ ...made(before, own), metadata: {} });
    expect(hasOtherTerms(unnoted(to("a")), to("a"))).to.equal(false);
    expect(hasOtherTerms(unnoted(to("a")), to("b"))).to.equal(true);
    expect(hasOtherTerms(unnoted(to("a", "b")), to("b"))).to.equal(true);
    expect(hasOtherTerms(unnoted(to()), to("a"))).to.equal(true);
    expect(hasOtherTerms(unnoted(to()), to())).to.equal(false);
  });
});

describe("crossProduct", () => {
  const term: fc.Arbitrary<NodeSelectorTerm> = fc.record(
    {
      matchExpressions: fc.array(
        fc.record({
          key: fc.constantFrom("a", "b", "liqo.io/type"),
          operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist"),
          values: fc.subarray(["x", "virtual-node"]),
        }),
        { maxLength: 2 },
      ),
      matchFields: fc.array(
        fc.record({
          key: fc.constant("metadata.name"),
          operator: fc.constantFrom("In", "NotIn"),
          values: fc.subarray(["m", "n"]),
        }),
        { maxLength: 1 },
      ),
    },
    { requiredKeys: [] },
  );
  const node: fc.Arbitrary<SelectableNode> = fc.record({
    name: fc.constantFrom("m", "n"),
    labels: fc.dictionary(fc.constantFrom("a", "b", "liqo.io/type"), fc.constantFrom("x", "virtual-node")),
  });
  const list = fc.array(term, { minLength: 1, maxLength: 3 });

  it("is matched by a node exactly if both lists are", () => {
    fc.assert(
      fc.property(list, list, node, (a, b, one) => {
        const both = matchesNodeSelector(a, one) && matchesNodeSelector(b, one);
        expect(matchesNodeSelector(crossProduct(a, b), one)).to.equal(both);
      }),
    );
  });

  it("lets strategy Remote match only virtual nodes, and LocalAndRemote every physical one", () => {
    fc.assert(
      fc.property(list, node, (selector, one) => {
        const isVirtual = one.labels["liqo.io/type"] === "virtual-node";
        const remote = matchesNodeSelector(termsOf("Remote", selector), one);
        expect(remote).to.equal(isVirtual && matchesNodeSelector(selector, one));
        if (!isVirtual) expect(matchesNodeSelector(termsOf("LocalAndRemote", selector), one)).to.equal(true);
      }),
    );
  });
});
