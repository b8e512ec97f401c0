import { expect } from "chai";
import {
  NamespaceOffloadingResource,
  VirtualNodeResource,
  type NamespaceOffloadingStatus,
  type VirtualNodeCondition,
} from "../../../agent/api/index.js";
import { tellOffloading } from "../../../agent/controller/offloading/namespace-offloading/offloading-events.js";
import { clusterConditions } from "../../../agent/controller/offloading/namespace-offloading/status.js";
import { drainCondition } from "../../../agent/controller/offloading/virtual-node/drain-condition.js";
import { tellNodeState } from "../../../agent/controller/offloading/virtual-node/node-events.js";
import type { EventRecorder } from "../../../agent/runtime/index.js";

/** What is told, as "type reason: message". */
class Told {
  readonly lines: string[] = [];
  readonly events = {
    normal: (_type: unknown, _object: unknown, reason: string, message: string) =>
      this.lines.push(`Normal ${reason}: ${message}`),
    warning: (_type: unknown, _object: unknown, reason: string, message: string) =>
      this.lines.push(`Warning ${reason}: ${message}`),
  } as unknown as EventRecorder;

  /** The reasons since the last look. */
  take(): string[] {
    return this.lines.splice(0).map((line) => line.split(":")[0] ?? "");
  }
}

describe("events on a VirtualNode", () => {
  const virtualNode = VirtualNodeResource.build({ metadata: { name: "one" }, spec: {} });
  const node = (reason: string): VirtualNodeCondition => ({ type: "Node", status: "Running", reason });
  const deadline = new Date("2026-01-01T00:00:00Z");
  const draining = (remaining: string[], blocked: string[] = []): VirtualNodeCondition =>
    drainCondition({ remaining, blocked }, deadline);

  it("tell each state of its Node once", () => {
    const told = new Told();
    const states: [VirtualNodeCondition, string[]][] = [
      [{ type: "Node", status: "Creating", reason: "Creating" }, []],
      [node("NodeNotReady"), []],
      [node("NodeReady"), ["Normal NodeReady"]],
      [node("NodeReady"), []],
      [node("NodeNotReady"), ["Warning NodeNotReady"]],
      [node("NodeReady"), ["Normal NodeReady"]],
      [draining(["a/b", "a/c"]), ["Normal Draining"]],
      [draining(["a/b"]), []],
      [draining(["a/b"], ["a/b"]), ["Warning EvictionBlocked"]],
      [draining(["a/b"]), []],
      [draining([]), ["Normal Drained"]],
      [draining([]), []],
    ];
    let before: VirtualNodeCondition[] | undefined;
    for (const [condition, expected] of states) {
      tellNodeState(told.events, virtualNode, before, [condition]);
      expect(told.take(), condition.message).to.deep.equal(expected);
      before = [condition];
    }
  });
});

describe("events on a NamespaceOffloading", () => {
  const clusters = (phases: Record<string, "Accepted" | "CreationLoopBackOff" | "Terminating" | undefined>) =>
    new Map(Object.entries(phases).map(([id, phase]) => [id, { selected: phase !== "Terminating", phase }] as const));

  it("tell where its namespace is made, refused, ending and gone, and when all have it", () => {
    const told = new Told();
    let status: NamespaceOffloadingStatus | undefined;
    const becomes = (
      offloadingPhase: NamespaceOffloadingStatus["offloadingPhase"],
      phases: Parameters<typeof clusters>[0],
    ): string[] => {
      const offloading = NamespaceOffloadingResource.build({ metadata: { name: "offloading" }, spec: {}, status });
      const remoteNamespacesConditions = clusterConditions(clusters(phases), status?.remoteNamespacesConditions);
      const next = { remoteNamespaceName: "app-one", offloadingPhase, remoteNamespacesConditions };
      tellOffloading(told.events, offloading, next);
      status = next;
      return told.take();
    };
    expect(becomes("InProgress", { a: undefined, b: undefined })).to.deep.equal([]);
    expect(becomes("InProgress", { a: "Accepted", b: undefined })).to.deep.equal(["Normal RemoteNamespaceReady"]);
    expect(becomes("SomeFailed", { a: "Accepted", b: "CreationLoopBackOff" })).to.deep.equal([
      "Warning RemoteNamespaceRefused",
    ]);
    expect(becomes("Ready", { a: "Accepted", b: "Accepted" })).to.deep.equal([
      "Normal RemoteNamespaceReady",
      "Normal Offloaded",
    ]);
    expect(becomes("Ready", { a: "Accepted", b: "Accepted" })).to.deep.equal([]);
    expect(becomes("Terminating", { a: "Terminating", b: "Terminating" })).to.deep.equal([
      "Normal RemoteNamespaceEnding",
      "Normal RemoteNamespaceEnding",
    ]);
    expect(becomes("NoClusterSelected", {})).to.deep.equal([
      "Normal OffloadingEnded",
      "Normal OffloadingEnded",
      "Warning NoClusterSelected",
    ]);
  });

  it("name clusters and namespace", () => {
    const told = new Told();
    const offloading = NamespaceOffloadingResource.build({ metadata: { name: "offloading" }, spec: {} });
    const remoteNamespacesConditions = clusterConditions(clusters({ a: "Accepted", b: "CreationLoopBackOff" }));
    tellOffloading(told.events, offloading, {
      remoteNamespaceName: "app-one",
      offloadingPhase: "SomeFailed",
      remoteNamespacesConditions,
    });
    expect(told.lines).to.deep.equal([
      "Normal RemoteNamespaceReady: cluster a, namespace app-one: the remote namespace exists",
      "Warning RemoteNamespaceRefused: cluster b, namespace app-one: a namespace of this name exists there already, or its name is not valid",
    ]);
  });
});
