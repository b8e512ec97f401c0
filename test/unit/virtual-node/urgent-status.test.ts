import { expect } from "chai";
import type { ContainerStatus, PodStatus } from "kubernetes-types/core/v1";
import { podStatusPatch } from "../../../agent/virtual-node/pods/pod-status.js";
import { isUrgent } from "../../../agent/virtual-node/pods/urgent-status.js";

const container = (patch: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: "main",
  image: "web",
  imageID: "",
  ready: false,
  restartCount: 0,
  state: { waiting: { reason: "ContainerCreating" } },
  ...patch,
});
const pending: PodStatus = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] };
const running: PodStatus = {
  phase: "Running",
  conditions: [{ type: "Ready", status: "True" }],
  containerStatuses: [container({ ready: true, state: { running: {} } })],
};

describe("urgency of a change of status", () => {
  it("is none in the steps of a start", () => {
    expect(isUrgent(undefined, pending)).to.equal(false);
    expect(isUrgent(pending, { ...pending, hostIP: "10.0.0.1", containerStatuses: [container()] })).to.equal(false);
  });

  it("is there when a pod runs, is ready or not, ends, or a container does", () => {
    expect(isUrgent(pending, running)).to.equal(true);
    expect(isUrgent(running, { ...running, conditions: [{ type: "Ready", status: "False" }] })).to.equal(true);
    const crashed = container({ restartCount: 1, state: { waiting: { reason: "CrashLoopBackOff" } } });
    expect(isUrgent(running, { ...running, containerStatuses: [crashed] })).to.equal(true);
    const missing = container({ state: { waiting: { reason: "ErrImagePull" } } });
    expect(isUrgent(pending, { ...pending, containerStatuses: [missing] })).to.equal(true);
    expect(isUrgent(running, { ...running, ephemeralContainerStatuses: running.containerStatuses })).to.equal(true);
  });

  it("does not keep a label from going with the next write", () => {
    const pod = { metadata: { uid: "u", labels: { mine: "yes" } }, spec: { containers: [] }, status: pending };
    expect(podStatusPatch(pod, pending, { mine: "yes" })).to.equal(undefined);
    expect(podStatusPatch(pod, pending, { ours: "yes" })).to.deep.equal({
      metadata: { uid: "u", labels: { ours: "yes" } },
      status: {},
    });
  });
});
