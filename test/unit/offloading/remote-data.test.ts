import { expect } from "chai";
import type { PersistentVolume } from "kubernetes-types/core/v1";
import { lossOf, remoteDataOf } from "../../../agent/storage/remote-data.js";
import { remoteVolume } from "../../integration/support/remote-volume.js";

const volume = (claim: string, phase: string, policy = "Delete", clusterID = "p"): PersistentVolume => {
  const made = remoteVolume({ name: claim, namespace: "shop" }, clusterID);
  return {
    ...made,
    metadata: { ...made.metadata, name: `pv-${claim}` },
    spec: { ...made.spec, persistentVolumeReclaimPolicy: policy },
    status: { phase },
  };
};

describe("data of a namespace in other clusters", () => {
  it("is that of claims, by cluster", () => {
    const volumes = [volume("b", "Bound"), volume("a", "Bound"), volume("c", "Bound", "Delete", "q")];
    expect(remoteDataOf("shop", volumes)).to.deep.equal([
      { clusterID: "p", claims: ["a", "b"], volumes: [] },
      { clusterID: "q", claims: ["c"], volumes: [] },
    ]);
    expect(remoteDataOf("other", volumes)).to.deep.equal([]);
  });

  it("is also that of claims which have gone, where their volumes were to be retained", () => {
    const volumes = [
      volume("gone", "Released"),
      volume("kept", "Released", "Retain"),
      volume("used", "Bound", "Retain"),
    ];
    const [data] = remoteDataOf("shop", volumes);
    expect(data).to.deep.equal({ clusterID: "p", claims: ["used"], volumes: ["pv-kept"] });
  });

  it("is named with what can be done about it", () => {
    const loss = lossOf({ clusterID: "p", claims: ["a"], volumes: [] });
    expect(loss).to.match(/^the data of claim a is in cluster p .*copy what is needed and delete the claims, or agree/);
    const both = lossOf({ clusterID: "p", claims: ["a", "b"], volumes: ["v"] });
    expect(both).to.match(/^the data of claims a, b and retained volume v is .*delete the claims and volumes, or/);
    const many = lossOf({ clusterID: "p", claims: [], volumes: ["1", "2", "3", "4", "5", "6", "7"] });
    expect(many).to.match(/^the data of retained volumes 1, 2, 3, 4, 5, and 2 more is .*delete the volumes, or/);
  });
});
