import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { removePods, type DrainMode } from "../../../agent/controller/offloading/virtual-node/drain.js";
import type { KubeClient } from "../../../agent/runtime/index.js";

const HELD: Pod = {
  metadata: {
    name: "held",
    namespace: "shop",
    uid: "1",
    finalizers: ["batch.kubernetes.io/job-tracking"],
    deletionTimestamp: "2026-01-01T00:00:00Z",
    deletionGracePeriodSeconds: 0,
  },
};

describe("a drain of pods that finalizers hold", () => {
  const remaining = async (mode: DrainMode, pod: Pod): Promise<string[]> => {
    const client = {
      list: () => Promise.resolve({ metadata: {}, items: [pod] }),
      delete: () => Promise.resolve(true),
    } as unknown as KubeClient;
    return (await removePods(client, "node", mode)).remaining;
  };

  it("waits for them, but where the node is given up and they have no time left", async () => {
    const fresh = { metadata: { ...HELD.metadata, deletionTimestamp: new Date().toISOString() } };
    expect(await remaining("evict", fresh)).to.deep.equal(["shop/held"]);
    expect(await remaining("delete", fresh)).to.deep.equal(["shop/held"]);
    expect(await remaining("abandon", fresh)).to.deep.equal([]);
    const ending = { metadata: { ...fresh.metadata, deletionGracePeriodSeconds: 30 } };
    expect(await remaining("abandon", ending)).to.deep.equal(["shop/held"]);
  });

  it("does not wait for ever: over its deadline, nobody may be there to tell of their end", async () => {
    expect(await remaining("delete", HELD)).to.deep.equal([]);
    expect(await remaining("evict", HELD)).to.deep.equal(["shop/held"]);
    const ending = { metadata: { ...HELD.metadata, deletionGracePeriodSeconds: 30 } };
    expect(await remaining("delete", ending)).to.deep.equal(["shop/held"]);
  });
});
