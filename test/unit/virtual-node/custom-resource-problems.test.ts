import { expect } from "chai";
import { KubeError } from "../../../agent/runtime/index.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { CustomResourceProblems } from "../../../agent/virtual-node/reflection/custom-resource-problems.js";

const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };
const failure = (cluster: string, code: number): KubeError => new KubeError("refused", code, "Refused", cluster);

/** Those problems, and what has been told of them. */
function problems(): { problems: CustomResourceProblems; told: string[] } {
  const told: string[] = [];
  const recorder = {
    warning: (_type: unknown, _object: unknown, reason: string, message: string) => told.push(`${reason}: ${message}`),
  };
  const context = { recorder, config: { homeClusterId: "home" }, state: { virtualNode: { metadata: { name: "vn" } } } };
  return { problems: new CustomResourceProblems(context as unknown as VirtualNodeContext), told };
}

describe("what keeps a custom resource from being reflected", () => {
  it("is told when it lasts, each few minutes, and for each cluster", () => {
    const { problems: one, told } = problems();
    const tell = (cluster: string, second: number): void => one.tell(widgets, failure(cluster, 403), second * 1_000);
    for (const second of [0, 1, 4]) tell("home", second);
    expect(told).to.deep.equal([]);
    for (const second of [6, 16, 26]) tell("home", second);
    expect(told).to.have.length(1);
    for (const second of [16, 26]) tell("away", second);
    expect(told).to.have.length(2);
    for (let second = 36; second < 700; second += 10) tell("home", second);
    expect(told).to.have.length(3);
    // Later on, for a moment only.
    for (const second of [2_000, 2_001]) tell("home", second);
    expect(told).to.have.length(3);
  });

  it("says what to do in which cluster, and nothing of what passes by itself", () => {
    const { problems: one, told } = problems();
    for (const second of [0, 6])
      for (const [cluster, code] of [
        ["home", 403],
        ["away", 403],
        ["away", 404],
        ["away", 0],
        ["away", 500],
      ] as const)
        one.tell(widgets, failure(cluster, code), second * 1_000);
    expect(told).to.deep.equal([
      "FailedReflection: cluster home does not let virtual nodes read widgets.example.com: give ClusterRole liqo-virtual-kubelet-local-custom-resources there the verbs get, list, watch on it",
      "FailedReflection: cluster away does not let virtual nodes read widgets.example.com: give ClusterRole liqo-virtual-kubelet-remote-custom-resources there the verbs get, list, watch, create, update, patch, delete on it",
      "FailedReflection: cluster away does not serve widgets.example.com in version v1 in namespaces: install its CustomResourceDefinition there, or take it out of customResources",
    ]);
  });
});
