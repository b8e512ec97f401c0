import { expect } from "chai";
import type { ContainerStatus, Pod, PodStatus } from "kubernetes-types/core/v1";
import {
  endedStatus,
  goneStatus,
  isGivenUp,
  notOffloadedStatus,
} from "../../../agent/virtual-node/pods/fallback-status.js";
import { localPodStatus, notReadyStatus, podStatusPatch } from "../../../agent/virtual-node/pods/pod-status.js";
import { RestartCounts } from "../../../agent/virtual-node/pods/restart-counts.js";
import { revivesContainers } from "../../../agent/virtual-node/pods/terminated-containers.js";

const time = "2026-01-01T00:00:00Z";
const containerStatus = (patch: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: "main",
  image: "web",
  imageID: "1",
  ready: true,
  restartCount: 0,
  state: { running: { startedAt: time } },
  ...patch,
});
const terminated = (exitCode: number): Partial<ContainerStatus> => ({
  ready: false,
  state: { terminated: { exitCode } },
});
const pod = (status: PodStatus, spec: Partial<NonNullable<Pod["spec"]>> = {}, uid = "u"): Pod => ({
  metadata: { name: "web", uid, generation: 3 },
  spec: { containers: [{ name: "main" }], ...spec },
  status,
});
const options = { hostIP: "10.0.0.1", translate: (ip: string) => ip.replace("10.201", "10.71"), restartOffset: 0 };

describe("status of the local pod", () => {
  it("is the remote one, with addresses of here and what was decided here", () => {
    const local = pod({ phase: "Pending", qosClass: "BestEffort" });
    const remote = pod({
      phase: "Running",
      qosClass: "Guaranteed",
      nominatedNodeName: "n",
      podIP: "10.201.0.9",
      podIPs: [{ ip: "10.201.0.9" }, { ip: "fd00::9" }],
      hostIP: "172.30.0.12",
      ephemeralContainerStatuses: [containerStatus()],
      ...({ observedGeneration: 9 } as object),
    });
    expect(localPodStatus(local, remote, options)).to.deep.equal({
      phase: "Running",
      qosClass: "BestEffort",
      podIP: "10.71.0.9",
      podIPs: [{ ip: "10.71.0.9" }],
      hostIP: "10.0.0.1",
      hostIPs: [{ ip: "10.0.0.1" }],
      conditions: [],
      observedGeneration: 3,
    });
  });

  it("keeps an ephemeral container that has ended as it was told, as none is ever started again", () => {
    const debuggers = [{ name: "first" }, { name: "second" }, { name: "third" }];
    const ended = (name: string) => containerStatus({ name, ...terminated(3) });
    const running = (name: string) => containerStatus({ name });
    const local = pod(
      { ephemeralContainerStatuses: [running("second"), ended("first"), ended("third")] },
      { ephemeralContainers: debuggers },
    );
    const statuses = (remote: ContainerStatus[]) =>
      localPodStatus(local, pod({ ephemeralContainerStatuses: remote }), options).ephemeralContainerStatuses;
    expect(statuses([running("first"), ended("second")])).to.deep.equal([
      ended("first"),
      ended("second"),
      ended("third"),
    ]);
    expect(statuses([]), "of a pod that has not begun").to.deep.equal([ended("first"), ended("third")]);
  });

  it("tells of the containers that the pod has here, and of none that the provider has added", () => {
    const names = (statuses?: ContainerStatus[]) => statuses?.map(({ name }) => name);
    const added = containerStatus({ name: "added", ready: false });
    const local = pod({ phase: "Pending" }, { initContainers: [{ name: "main-init" }] });
    const remote = pod({
      containerStatuses: [added, containerStatus()],
      initContainerStatuses: [added, containerStatus({ name: "main-init" })],
    });
    const status = localPodStatus(local, remote, options);
    expect(names(status.containerStatuses)).to.deep.equal(["main"]);
    expect(names(status.initContainerStatuses)).to.deep.equal(["main-init"]);
  });

  it("does not end with a remote pod that the provider moves, unless the pod would end by itself", () => {
    const failed = pod({ phase: "Failed", reason: "Evicted", containerStatuses: [containerStatus(terminated(137))] });
    const moved = { ...failed, metadata: { ...failed.metadata, deletionTimestamp: time } };
    const local = pod({ phase: "Running" });
    expect(localPodStatus(local, moved, options))
      .to.include({ phase: "Running" })
      .and.not.have.property("reason");
    const job = pod({ phase: "Running" }, { restartPolicy: "Never" });
    expect(localPodStatus(job, moved, options)).to.include({ phase: "Failed", reason: "Evicted" });
    expect(localPodStatus(local, failed, options)).to.include({ phase: "Failed" });
  });

  it("keeps conditions of local controllers and is written only when something differs", () => {
    const gate = { type: "example.com/gate", status: "True" };
    const local = pod({
      phase: "Pending",
      reason: "OffloadingBackOff",
      conditions: [gate, { type: "Ready", status: "False" }],
    });
    const remote = pod({ phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
    const status = localPodStatus(local, remote, options);
    expect(status.conditions).to.deep.equal([{ type: "Ready", status: "True" }, gate]);
    const patch = podStatusPatch(local, status) as { status: Record<string, unknown>; metadata: object };
    expect(patch.metadata).to.deep.equal({ uid: "u" });
    expect(patch.status).to.include({ phase: "Running", reason: null });
    expect(podStatusPatch({ ...local, status }, localPodStatus({ ...local, status }, remote, options))).to.equal(
      undefined,
    );
  });

  it("is ready once it is so at the provider and all of its readiness gates are open here", () => {
    const [published, allowed] = ["example.com/published", "example.com/allowed"];
    const remote = pod({ conditions: [{ type: "Ready", status: "True", lastTransitionTime: time }] });
    const later = "2031-01-01T00:00:00Z";
    const readyWith = (...open: (string | undefined)[]) => {
      const conditions = open.map((type = "") => ({ type, status: "True", lastTransitionTime: later }));
      const readinessGates = [published, allowed].map((conditionType = "") => ({ conditionType }));
      return localPodStatus(pod({ conditions }, { readinessGates }), remote, options).conditions?.[0];
    };
    const closed = readyWith(published);
    expect(closed).to.include({ type: "Ready", status: "False", reason: "ReadinessGatesNotReady" });
    expect(closed?.message).to.match(/: example\.com\/allowed$/);
    expect(readyWith(published, allowed)).to.deep.equal({ type: "Ready", status: "True", lastTransitionTime: later });
    // Nor is one that has just been opened lost in a write that does not know of it.
    const local = pod({}, { readinessGates: [{ conditionType: "example.com/published" }] });
    Object.assign(local.metadata!, { resourceVersion: "7" });
    const patch = podStatusPatch(local, localPodStatus(local, remote, options)) as { metadata: object };
    expect(patch.metadata).to.include({ resourceVersion: "7" });
  });

  it("is not ready while the provider is out of reach, without being written again and again", () => {
    const remote = pod({ conditions: [{ type: "Ready", status: "True", lastTransitionTime: time }] });
    const local = pod({});
    local.metadata!.labels = { "liqo.io/remote-unavailable": "true" };
    const status = localPodStatus(local, remote, options);
    expect(status.conditions?.[0]).to.include({ status: "False", reason: "RemoteUnavailable" });
    const before = { ...status.conditions![0]!, lastTransitionTime: time };
    const written = { ...local, status: { ...status, conditions: [before] } };
    expect(podStatusPatch(written, localPodStatus(written, remote, options))).to.equal(undefined);
    expect(
      notReadyStatus(pod({ conditions: [{ type: "Ready", status: "True" }] }), "r", "m").conditions?.[0],
    ).to.include({ status: "False" });
  });

  it("counts a restart for every remote pod made anew, and never fewer than before", () => {
    const counts = new RestartCounts();
    const local = (restartCount: number): Pod => pod({ containerStatuses: [containerStatus({ restartCount })] });
    const remote = (uid: string, restartCount: number): Pod =>
      pod({ containerStatuses: [containerStatus({ restartCount })] }, {}, uid);
    const shown = (l: Pod, r: Pod): number | undefined =>
      localPodStatus(l, r, { ...options, restartOffset: counts.offset(l, r) }).containerStatuses?.[0]?.restartCount;
    expect(shown(pod({}), remote("a", 0))).to.equal(0);
    expect(shown(local(0), remote("a", 5))).to.equal(5);
    expect(shown(local(5), remote("b", 0))).to.equal(5);
    expect(shown(local(5), remote("b", 6))).to.equal(7);
    const empty = pod({}, {}, "c");
    expect(localPodStatus(local(7), empty, options).containerStatuses?.[0]).to.deep.include({
      restartCount: 7,
      ready: false,
    });
    // A new process sees only the difference.
    expect(new RestartCounts().offset(local(7), remote("b", 6))).to.equal(1);
  });

  it("counts it for init containers, too", () => {
    const remote = pod({ initContainerStatuses: [containerStatus({ name: "init", restartCount: 2 })] });
    const local: Pod = pod({});
    local.spec = { containers: [], initContainers: [{ name: "init" }] };
    const status = localPodStatus(local, remote, { ...options, restartOffset: 3 });
    expect(status.initContainerStatuses?.map(({ restartCount }) => restartCount)).to.deep.equal([5]);
  });

  it("knows which containers may not come back", () => {
    const ended = (exitCode: number, restartPolicy: string): Pod =>
      pod({ containerStatuses: [containerStatus(terminated(exitCode))] }, { restartPolicy });
    const runs = pod({ containerStatuses: [containerStatus()] });
    expect(revivesContainers(ended(0, "Never"), runs)).to.equal(true);
    expect(revivesContainers(ended(1, "Never"), runs)).to.equal(true);
    expect(revivesContainers(ended(0, "OnFailure"), runs)).to.equal(true);
    expect(revivesContainers(ended(1, "OnFailure"), runs)).to.equal(false);
    expect(revivesContainers(ended(0, "Always"), runs)).to.equal(false);
    expect(revivesContainers(ended(0, "Never"), pod({}))).to.equal(true);
    expect(revivesContainers(ended(0, "Never"), ended(0, "Never"))).to.equal(false);
  });

  it("knows which containers come back by policies and rules of their own", () => {
    const rule = (operator: string, values: number[], action = "Restart"): object => ({
      action,
      exitCodes: { operator, values },
    });
    const ended = (exitCode: number, container: object, restartPolicy = "Never"): Pod =>
      pod(
        { containerStatuses: [containerStatus(terminated(exitCode))] },
        { restartPolicy, containers: [{ name: "main", ...container }] },
      );
    const runs = pod({ containerStatuses: [containerStatus()] });
    const revives = (...asked: Parameters<typeof ended>): boolean => revivesContainers(ended(...asked), runs);
    expect(revives(0, { restartPolicy: "Always" })).to.equal(false);
    expect(revives(1, { restartPolicy: "OnFailure" })).to.equal(false);
    expect(revives(0, { restartPolicy: "OnFailure" })).to.equal(true);
    expect(revives(1, { restartPolicy: "Never" }, "Always")).to.equal(true);
    const on42 = { restartPolicy: "Never", restartPolicyRules: [rule("In", [41, 42])] };
    expect(revives(42, on42)).to.equal(false);
    expect(revives(1, on42)).to.equal(true);
    const notOn0 = { restartPolicy: "Never", restartPolicyRules: [rule("NotIn", [0])] };
    expect(revives(7, notOn0)).to.equal(false);
    expect(revives(0, notOn0)).to.equal(true);
    const unknown = { restartPolicy: "Never", restartPolicyRules: [rule("In", [3], "Pause"), rule("In", [3])] };
    expect(revives(3, unknown)).to.equal(true);
    const all = { restartPolicy: "Never", restartPolicyRules: [rule("In", [9], "RestartAllContainers")] };
    expect(revives(0, all)).to.equal(false);
    const other = ended(0, {});
    other.spec!.initContainers = [{ name: "watch", ...all }];
    expect(revivesContainers(other, runs)).to.equal(false);
  });

  it("knows which init containers come back", () => {
    const revives = (restartPolicy: string | undefined, exitCode = 0, podPolicy = "Never"): boolean => {
      const initContainers = [{ name: "main", ...(restartPolicy ? { restartPolicy } : {}) }];
      const spec = { restartPolicy: podPolicy, initContainers, containers: [] };
      const local = pod({ initContainerStatuses: [containerStatus(terminated(exitCode))] }, spec);
      return revivesContainers(local, pod({ initContainerStatuses: [containerStatus()] }));
    };
    expect(revives("Always")).to.equal(false);
    expect(revives("Never")).to.equal(true);
    expect(revives("OnFailure")).to.equal(true);
    expect(revives("OnFailure", 1)).to.equal(false);
    expect(revives(undefined)).to.equal(true);
    expect(revives(undefined, 0, "Always")).to.equal(false);
    expect(revives(undefined, 1, "OnFailure")).to.equal(false);
  });

  it("waits or fails where the namespace is not offloaded", () => {
    expect(notOffloadedStatus(pod({ phase: "Pending" }))).to.include({ phase: "Pending", reason: "OffloadingBackOff" });
    const ran = pod({
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [containerStatus(), containerStatus({ name: "done", ...terminated(0) })],
    });
    const status = notOffloadedStatus(ran);
    expect(status).to.include({ phase: "Failed", reason: "OffloadingAborted" });
    expect(status.conditions?.[0]).to.include({ status: "False" });
    expect(status.containerStatuses?.map(({ state }) => state?.terminated?.exitCode)).to.deep.equal([1, 0]);
    expect(status.containerStatuses?.some(({ ready }) => ready)).to.equal(false);
    expect(isGivenUp({ ...ran, status })).to.equal(true);
    const succeeded = endedStatus(ran, { phase: "Succeeded", reason: "RemotePodTerminated", message: "" });
    expect(succeeded.containerStatuses?.[0]?.state?.terminated?.exitCode).to.equal(0);
  });

  it("fails once nothing is left, without exit codes or conditions that a Job's failure policy would take for true", () => {
    const others = ["DisruptionTarget", "example.com/ConfigIssue"].map((type) => ({ type, status: "True" }));
    const containerStatuses = [containerStatus(), containerStatus({ name: "done", ...terminated(0) })];
    const conditions = [{ type: "Ready", status: "True" }, ...others];
    const ran = pod({ phase: "Running", podIP: "10.71.0.9", conditions, containerStatuses });
    const status = goneStatus(ran);
    expect(status).to.include({ phase: "Failed", reason: "Deleted", podIP: "10.71.0.9" });
    expect(status.conditions?.[0]).to.include({ type: "Ready", status: "False", reason: "Deleted" });
    expect(status.conditions?.slice(1)).to.deep.equal(others);
    expect(status.containerStatuses).to.deep.equal(containerStatuses);
    expect(goneStatus(pod({}))).to.include({ phase: "Failed" });
  });
});
