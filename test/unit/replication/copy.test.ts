import { expect } from "chai";
import { ResourceSliceResource } from "../../../agent/api/index.js";
import { asksForReplication, copyOf, isOwnCopy } from "../../../agent/controller/replication/copy.js";

const ROUTE = {
  localClusterID: "consumer",
  remoteClusterID: "provider",
  localNamespace: "liqo-tenant-provider",
  remoteNamespace: "liqo-tenant-consumer",
};

describe("copies", () => {
  const source = ResourceSliceResource.build({
    metadata: {
      name: "s",
      namespace: ROUTE.localNamespace,
      uid: "1",
      finalizers: ["f"],
      ownerReferences: [{ apiVersion: "v1", kind: "K", name: "n", uid: "2" }],
      labels: {
        "liqo.io/replication": "true",
        "liqo.io/remoteID": "provider",
        "liqo.io/remote-cluster-id": "provider",
        "liqo.io/ownership": "x",
        mine: "kept",
      },
      annotations: { a: "b" },
    },
    spec: { class: "default" },
  });

  it("carry the peer's point of view, annotations and spec, but neither owners nor finalizers", () => {
    expect(copyOf(source, ROUTE)).to.deep.equal({
      apiVersion: "authentication.liqo.io/v1beta1",
      kind: "ResourceSlice",
      metadata: {
        name: "s",
        namespace: "liqo-tenant-consumer",
        labels: {
          "liqo.io/replication": "false",
          "liqo.io/replicated": "true",
          "liqo.io/originID": "consumer",
          "liqo.io/remoteID": "provider",
          "liqo.io/remote-cluster-id": "consumer",
          mine: "kept",
        },
        annotations: { a: "b" },
      },
      spec: { class: "default" },
    });
  });

  it("are told from sources, and from others' copies", () => {
    const copy = copyOf(source, ROUTE);
    expect([asksForReplication(source), asksForReplication(copy)]).to.deep.equal([true, false]);
    expect([isOwnCopy(copy, "consumer"), isOwnCopy(copy, "other"), isOwnCopy(source, "consumer")]).to.deep.equal([
      true,
      false,
      false,
    ]);
  });
});
