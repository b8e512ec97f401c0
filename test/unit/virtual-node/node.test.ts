import { expect } from "chai";
import type { Node, NodeCondition } from "kubernetes-types/core/v1";
import { pino } from "pino";
import { ForeignClusterResource, VirtualNodeResource, type VirtualNodeSpec } from "../../../agent/api/index.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { parseVirtualNodeArguments } from "../../../agent/virtual-node/arguments.js";
import { nodeConditions, sameConditions } from "../../../agent/virtual-node/node/node-conditions.js";
import {
  APPLIED_ANNOTATION,
  appliedRecord,
  desiredNodeMetadata,
  nodeMetadataPatch,
} from "../../../agent/virtual-node/node/node-metadata.js";
import { isProviderAlive } from "../../../agent/virtual-node/node/ping.js";
import { desiredNodeStatus, nodeStatusDiffers, nodeStatusPatch } from "../../../agent/virtual-node/node/node-status.js";

const config = parseVirtualNodeArguments([
  "--foreign-cluster-id=p",
  "--home-cluster-id=c",
  "--nodename=node",
  "--node-ip=10.0.0.1",
  "--tenant-namespace=t",
  "--foreign-kubeconfig-secret-name=s",
]);
const virtualNode = (spec: VirtualNodeSpec): ReturnType<typeof VirtualNodeResource.build> =>
  VirtualNodeResource.build({ metadata: { name: "node", namespace: "t" }, spec });
const foreignCluster = (
  status: "Established" | "Pending" | "Error",
  lastTransitionTime?: string,
): ReturnType<typeof ForeignClusterResource.build> =>
  ForeignClusterResource.build({
    metadata: { name: "p" },
    spec: { clusterID: "p" },
    status: {
      role: "Provider",
      modules: {
        networking: { enabled: true, conditions: [{ type: "NetworkConnectionStatus", status, lastTransitionTime }] },
        authentication: { enabled: true },
        offloading: { enabled: true },
      },
    },
  });
const statusOf = (conditions: { type: string; status: string }[], type: string): string | undefined =>
  conditions.find((condition) => condition.type === type)?.status;

describe("Node of a virtual node", () => {
  it("is ready with resources and, if that is looked at, an established network", () => {
    const allocatable = { cpu: "1", memory: "1Gi" };
    const base = { allocatable, checkNetwork: true, networkingEnabled: true };
    const up = nodeConditions({ ...base, foreignCluster: foreignCluster("Established") });
    expect(statusOf(up, "Ready")).to.equal("True");
    expect(statusOf(up, "NetworkUnavailable")).to.equal("False");
    const down = nodeConditions({ ...base, foreignCluster: foreignCluster("Error") });
    expect(statusOf(down, "Ready")).to.equal("False");
    const unchecked = nodeConditions({ ...base, checkNetwork: false });
    expect(statusOf(unchecked, "Ready")).to.equal("True");
    expect(statusOf(unchecked, "NetworkUnavailable")).to.equal(undefined);
    expect(statusOf(nodeConditions({ ...base, checkNetwork: false, allocatable: { cpu: "1" } }), "Ready")).to.equal(
      "False",
    );
  });

  it("stays as it is while a gateway connects anew, for ten seconds", () => {
    const base = { allocatable: { cpu: "1", memory: "1Gi" }, checkNetwork: true, networkingEnabled: true };
    const connecting = foreignCluster("Pending", "2026-01-01T00:00:00Z");
    const ready = (present: NodeCondition[], now: string): string | undefined =>
      statusOf(nodeConditions({ ...base, present, foreignCluster: connecting, now: new Date(now) }), "Ready");
    const up = nodeConditions({ ...base, foreignCluster: foreignCluster("Established") });
    expect(ready(up, "2026-01-01T00:00:09Z")).to.equal("True");
    expect(ready(up, "2026-01-01T00:00:10Z")).to.equal("False");
    const down = nodeConditions({ ...base, foreignCluster: foreignCluster("Error") });
    expect(ready(down, "2026-01-01T00:00:01Z")).to.equal("False");
    expect(ready([], "2026-01-01T00:00:01Z")).to.equal("False");
  });

  it("takes the provider for alive as its ForeignCluster says, and asks it only where that says nothing", async () => {
    const asked: string[] = [];
    const isAlive = (status: "Established" | "Error" | "None" | undefined, answers: boolean): Promise<boolean> => {
      const conditions = status ? [{ type: "APIServerStatus", status }] : [];
      const text = (path: string): Promise<string> => {
        asked.push(path);
        return answers ? Promise.resolve("ok") : Promise.reject(new Error("silent"));
      };
      const state = { foreignCluster: { status: { conditions } } };
      return isProviderAlive({
        state,
        remote: { text },
        logger: pino({ level: "silent" }),
      } as unknown as VirtualNodeContext);
    };
    expect(await isAlive("Established", false)).to.equal(true);
    expect(await isAlive("Error", true)).to.equal(false);
    expect(asked).to.deep.equal([]);
    expect(await isAlive("None", true)).to.equal(true);
    expect(await isAlive(undefined, true)).to.equal(true);
    expect(await isAlive("None", false)).to.equal(false);
    expect(asked).to.deep.equal(["/livez", "/livez", "/livez"]);
  });

  it("keeps transition times while statuses stand, and others' conditions", () => {
    const inputs = { allocatable: { cpu: "1", memory: "1" }, checkNetwork: false, networkingEnabled: false };
    const first = nodeConditions({ ...inputs, now: new Date("2026-01-01T00:00:00Z") });
    const foreign = { type: "KernelDeadlock", status: "False" };
    const second = nodeConditions({ ...inputs, present: [...first, foreign], now: new Date("2026-01-02T00:00:00Z") });
    expect(second.find(({ type }) => type === "Ready")).to.include({
      lastTransitionTime: "2026-01-01T00:00:00Z",
      lastHeartbeatTime: "2026-01-02T00:00:00Z",
    });
    expect(second).to.deep.include(foreign);
    expect(sameConditions(second, [...first, foreign])).to.equal(true);
  });

  it("removes only labels, annotations and taints that it has set itself", () => {
    const old = desiredNodeMetadata(
      config,
      virtualNode({ labels: { zone: "a" }, taints: [{ key: "t", effect: "NoSchedule" }] }),
    );
    const node: Node = {
      metadata: {
        resourceVersion: "7",
        labels: { ...old.labels, mine: "x" },
        annotations: { [APPLIED_ANNOTATION]: appliedRecord(old), other: "y" },
      },
      spec: { taints: [...old.taints, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] },
    };
    expect(nodeMetadataPatch(node, old)).to.equal(undefined);
    const desired = desiredNodeMetadata(config, virtualNode({ labels: { rack: "1" } }));
    const patch = nodeMetadataPatch(node, desired) as {
      metadata: { labels: object; resourceVersion: string };
      spec: { taints: { key: string }[] };
    };
    expect(patch.metadata).to.deep.include({ labels: { rack: "1", zone: null }, resourceVersion: "7" });
    expect(patch.spec.taints.map(({ key }) => key)).to.deep.equal([
      "virtual-node.liqo.io/not-allowed",
      "node.kubernetes.io/unschedulable",
    ]);
  });

  it("takes capacity from the grant, whatever its notation, and drops what is granted no more", () => {
    const inputs = { config, kubeletVersion: "v1.36.3", checkNetwork: false, networkingEnabled: false };
    const first = desiredNodeStatus({
      ...inputs,
      virtualNode: virtualNode({ resourceQuota: { hard: { cpu: 4, memory: "8Gi" } } }),
    });
    expect(first.capacity).to.deep.equal({ cpu: "4", memory: "8Gi" });
    expect(first.addresses).to.deep.equal([{ type: "InternalIP", address: "10.0.0.1" }]);
    const again = { resourceQuota: { hard: { cpu: "4000m", memory: "8192Mi" } } };
    const same = desiredNodeStatus({ ...inputs, virtualNode: virtualNode(again), present: first });
    expect(nodeStatusDiffers(first, same)).to.equal(false);
    const less = desiredNodeStatus({
      ...inputs,
      virtualNode: virtualNode({ resourceQuota: { hard: { cpu: "4" } } }),
      present: first,
    });
    expect(nodeStatusDiffers(first, less)).to.equal(true);
    expect(nodeStatusPatch(first, less)).to.have.deep.nested.property("status.capacity", { cpu: "4", memory: null });
  });

  it("is of the architecture that its labels tell, else of what is usual, and follows a change", () => {
    const inputs = { kubeletVersion: "v1.36.3", checkNetwork: false, networkingEnabled: false };
    const status = (labels?: Record<string, string>, own = config) =>
      desiredNodeStatus({ ...inputs, config: own, virtualNode: virtualNode({ labels }) });
    const architecture = "kubernetes.io/arch";
    const [usual, other] = [status(), status({ [architecture]: "arm64" })];
    expect(usual.nodeInfo?.architecture).to.equal("amd64");
    expect(desiredNodeMetadata(config, virtualNode({})).labels[architecture]).to.equal("amd64");
    expect(other.nodeInfo?.architecture).to.equal("arm64");
    const labelled = virtualNode({ labels: { [architecture]: "arm64" } });
    expect(desiredNodeMetadata(config, labelled).labels[architecture]).to.equal("arm64");
    expect(nodeStatusDiffers(usual, other)).to.equal(true);
    // By the virtual nodes' options, which the slice's labels come before.
    const extra = { ...config, nodeExtraLabels: { [architecture]: "s390x" } };
    expect(status({}, extra).nodeInfo?.architecture).to.equal("s390x");
    expect(status({ [architecture]: "arm64" }, extra).nodeInfo?.architecture).to.equal("arm64");
  });
});
