import { expect } from "chai";
import type { PodSpec } from "kubernetes-types/core/v1";
import { ShadowPodResource } from "../../../agent/api/index.js";
import { hasNewChanges } from "../../../agent/controller/offloading/shadow-pod/changes.js";
import { podOf } from "../../../agent/controller/offloading/shadow-pod/pod.js";
import { changeablePart, podChanges, resized } from "../../../agent/virtual-node/pods/pod-changes.js";

const spec = (patch: Partial<PodSpec> = {}): PodSpec => ({
  containers: [
    { name: "injected", image: "proxy" },
    { name: "main", image: "web:1", resources: { requests: { cpu: "100m" }, limits: { memory: "1Gi" } } },
  ],
  ...patch,
});
const main = (patch: object): PodSpec => spec({ containers: [{ name: "main", image: "web:1", ...patch }] });

describe("changes of a pod that runs", () => {
  it("are none while nothing that may change differs, whatever the provider has added", () => {
    const nothing = { update: [], resize: [], debug: [] };
    expect(podChanges(spec({ tolerations: [{ key: "added" }] }), main({}), "/spec")).to.deep.equal(nothing);
    const equal = { requests: { cpu: "0.1" }, limits: { memory: "1024Mi" } };
    expect(podChanges(spec(), main({ resources: equal, command: ["other"] }), "/spec")).to.deep.equal(nothing);
  });

  it("are found by the container's name, and take an image only where it still stands", () => {
    expect(podChanges(spec(), main({ image: "web:2" }), "/spec/pod").update).to.deep.equal([
      { op: "test", path: "/spec/pod/containers/1/name", value: "main" },
      { op: "replace", path: "/spec/pod/containers/1/image", value: "web:2" },
    ]);
  });

  it("resize the pod as a whole", () => {
    const whole = (resources: object): PodSpec => ({ ...spec(), ...{ resources } });
    const present = whole({ requests: { cpu: "100m", memory: "1Gi" } });
    expect(podChanges(present, whole({ requests: { cpu: "0.1" } }), "/spec").resize).to.deep.equal([]);
    const wanted = whole({ requests: { cpu: "1" }, limits: { cpu: "2" } });
    const value = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2" } };
    expect(podChanges(present, wanted, "/spec").resize).to.deep.equal([{ op: "add", path: "/spec/resources", value }]);
    expect(resized(present, wanted)).to.have.property("resources").that.deep.equals(value);
    expect(podChanges(changeablePart(present), changeablePart(wanted), "/spec").resize).to.have.length(1);
  });

  it("resize what is named, and leave what else the container was given", () => {
    const [, change] = podChanges(spec(), main({ resources: { requests: { cpu: "1" } } }), "/spec").resize;
    expect(change).to.deep.equal({
      op: "add",
      path: "/spec/containers/1/resources",
      value: { requests: { cpu: "1" }, limits: { memory: "1Gi" } },
    });
  });

  it("add tolerations, a deadline and ephemeral containers, and take none away", () => {
    const wanted = main({});
    Object.assign(wanted, {
      activeDeadlineSeconds: 60,
      tolerations: [{ key: "new" }],
      ephemeralContainers: [{ name: "debugger", image: "tools" }],
    });
    const { update, debug } = podChanges(spec({ tolerations: [{ key: "old" }] }), wanted, "/spec");
    expect(update).to.deep.equal([
      { op: "add", path: "/spec/activeDeadlineSeconds", value: 60 },
      { op: "add", path: "/spec/tolerations/-", value: { key: "new" } },
    ]);
    const value = [{ name: "debugger", image: "tools" }];
    expect(debug).to.deep.equal([{ op: "add", path: "/spec/ephemeralContainers", value }]);
    expect(podChanges(wanted, main({}), "/spec")).to.deep.equal({ update: [], resize: [], debug: [] });
  });

  it("can be told from what is kept of a spec", () => {
    const kept = changeablePart(spec({ hostname: "h", ephemeralContainers: [{ name: "debugger", image: "tools" }] }));
    expect(kept).to.not.have.property("hostname");
    const wanted = main({ image: "web:2" });
    expect(podChanges(kept, wanted, "/spec").update).to.deep.equal(podChanges(spec(), wanted, "/spec").update);
  });
});

describe("a Pod and the changes of its ShadowPod", () => {
  const shadow = (pod: PodSpec) =>
    ShadowPodResource.build({ metadata: { name: "p", namespace: "n", uid: "u" }, spec: { pod } });

  it("has them all when it is made, but for ephemeral containers, which are added to it", () => {
    expect(hasNewChanges(shadow(spec()), podOf(shadow(spec()), undefined))).to.equal(false);
    const debugged = shadow(spec({ ephemeralContainers: [{ name: "debugger", image: "tools" }] }));
    const pod = podOf(debugged, undefined);
    expect(JSON.parse(JSON.stringify(pod.spec))).to.not.have.property("ephemeralContainers");
    expect(hasNewChanges(debugged, pod)).to.equal(true);
  });

  it("is asked to change only when the ShadowPod does: an image that admission put there stays", () => {
    const pod = podOf(shadow(spec()), undefined);
    for (const container of pod.spec?.containers ?? []) container.image = `mirror/${container.image}`;
    expect(hasNewChanges(shadow(spec()), pod)).to.equal(false);
    expect(hasNewChanges(shadow(main({ image: "web:2" })), pod)).to.equal(true);
  });
});
