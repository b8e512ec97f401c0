import { expect } from "chai";
import type { DaemonSet } from "kubernetes-types/apps/v1";
import type { PodSpec } from "kubernetes-types/core/v1";
import type { AdmissionAnswer } from "../../../agent/controller/webhooks/admission.js";
import { mutateDaemonSet } from "../../../agent/controller/webhooks/daemon-set.js";

const daemonSet = (pod: Partial<PodSpec> = {}, labels: Record<string, string> = {}): DaemonSet => ({
  metadata: { name: "agent", namespace: "n" },
  spec: {
    selector: {},
    template: { metadata: { labels }, spec: { containers: [], tolerations: [{ operator: "Exists" }], ...pod } },
  },
});
const answer = (object: DaemonSet, oldObject?: DaemonSet): AdmissionAnswer => {
  const operation = oldObject ? "UPDATE" : "CREATE";
  return mutateDaemonSet({ uid: "1", operation, userInfo: {}, object, oldObject }) as AdmissionAnswer;
};
const notVirtual = { key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] };
const required = (...matchExpressions: object[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  } as PodSpec["affinity"],
});

describe("mutateDaemonSet", () => {
  it("keeps DaemonSets off virtual nodes, beside what they ask for themselves", () => {
    const linux = { key: "kubernetes.io/os", operator: "In", values: ["linux"] };
    const [patch] = answer(daemonSet(required(linux))).patch ?? [];
    expect(patch).to.deep.equal({
      op: "add",
      path: "/spec/template/spec/affinity",
      value: required(linux, notVirtual).affinity,
    });
  });

  it("leaves alone those that choose by the virtual node's label", () => {
    const chosen = { key: "liqo.io/type", operator: "Exists" };
    expect(answer(daemonSet(required(chosen))).patch).to.equal(undefined);
    expect(answer(daemonSet({ nodeSelector: { "liqo.io/type": "virtual-node" } })).patch).to.equal(undefined);
  });

  it("restarts no pods of its own accord: one that is there is changed with its template only", () => {
    const relabelled = daemonSet();
    Object.assign(relabelled.metadata ?? {}, { labels: { a: "b" } });
    expect(answer(relabelled, daemonSet()).patch).to.equal(undefined);
    expect(answer(daemonSet({}, { version: "2" }), daemonSet()).patch).to.have.length(1);
  });
});
