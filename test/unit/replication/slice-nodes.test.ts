import { expect } from "chai";
import { ResourceSliceResource, VirtualNodeResource, type VirtualNode } from "../../../agent/api/index.js";
import type { ReplicatedKind, ReplicatedObject } from "../../../agent/controller/replication/kinds.js";
import { NODES_LIMIT_MS, endNodesOf, type NodesContext } from "../../../agent/controller/replication/slice-nodes.js";
import { KubeError } from "../../../agent/runtime/index.js";

const DELETED_AT = "2026-01-01T00:00:00Z";
const NAMESPACE = "liqo-tenant-provider";
const SLICE_TYPE = ResourceSliceResource as unknown as ReplicatedKind;

describe("virtual nodes of a deleted slice", () => {
  it("are deleted once, and waited for until the limit", async () => {
    const { context, deleted, told } = contextWith([node("a", "slice"), node("b", "slice", DELETED_AT)]);
    const early = Date.parse(DELETED_AT) + 1_000;
    expect(await endNodesOf(context, SLICE_TYPE, slice(DELETED_AT), early)).to.equal(NODES_LIMIT_MS - 1_000);
    expect(deleted).to.deep.equal(["a"]);
    expect(told).to.deep.equal(["WaitingForVirtualNodes"]);
  });

  it("hold the slice no longer when nobody has ended them by then", async () => {
    const { context, told } = contextWith([node("a", "slice", DELETED_AT)]);
    const late = Date.parse(DELETED_AT) + NODES_LIMIT_MS;
    expect(await endNodesOf(context, SLICE_TYPE, slice(DELETED_AT), late)).to.equal(undefined);
    expect(told).to.deep.equal(["VirtualNodesLeft"]);
  });

  it("are told about where their end is refused, and asked to end again", async () => {
    const { context, told } = contextWith([node("a", "slice")]);
    const refusal = new KubeError("virtual node a stays", 403, "Forbidden", "consumer");
    context.localClient.delete = () => Promise.reject(refusal);
    const error = await endNodesOf(context, SLICE_TYPE, slice(DELETED_AT)).catch((thrown: unknown) => thrown);
    expect(error).to.equal(refusal);
    expect(told).to.deep.equal(["VirtualNodeKept"]);
  });

  it("are those that it owns, and only while it is being deleted", async () => {
    const { context, deleted } = contextWith([node("other", "another"), node("by-hand")]);
    expect(await endNodesOf(context, SLICE_TYPE, slice(DELETED_AT), Date.parse(DELETED_AT))).to.equal(undefined);
    const living = contextWith([node("a", "slice")]);
    expect(await endNodesOf(living.context, SLICE_TYPE, slice())).to.equal(undefined);
    expect([...deleted, ...living.deleted]).to.deep.equal([]);
  });
});

function slice(deletionTimestamp?: string): ReplicatedObject {
  return ResourceSliceResource.build({
    metadata: { name: "s", namespace: NAMESPACE, uid: "slice", deletionTimestamp },
    spec: { class: "default" },
  });
}

function node(name: string, owner?: string, deletionTimestamp?: string): VirtualNode {
  const ownerReferences = owner ? [{ apiVersion: "v1", kind: "ResourceSlice", name: "s", uid: owner }] : undefined;
  const metadata = { name, namespace: NAMESPACE, uid: name, ownerReferences, deletionTimestamp };
  return VirtualNodeResource.build({ metadata, spec: {} });
}

/** Records which virtual nodes are deleted, and the reasons of events. */
function contextWith(nodes: VirtualNode[]): { context: NodesContext; deleted: string[]; told: string[] } {
  const deleted: string[] = [];
  const told: string[] = [];
  const tell = (_type: unknown, _object: unknown, reason: string): unknown => told.push(reason);
  const context = {
    localClient: {
      delete: (_type: unknown, { name }: { name: string }) => Promise.resolve(deleted.push(name) > 0),
    },
    virtualNodes: { inNamespace: (namespace: string) => (namespace === NAMESPACE ? nodes : []) },
    events: { normal: tell, warning: tell },
  } as unknown as NodesContext;
  return { context, deleted, told };
}
