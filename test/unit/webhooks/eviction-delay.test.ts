import { expect } from "chai";
import type { Toleration } from "kubernetes-types/core/v1";
import { NamespaceOffloadingResource } from "../../../agent/api/index.js";
import { evictionDelayOf, withEvictionDelay } from "../../../agent/controller/webhooks/eviction-delay.js";
import { checkOffloading } from "../../../agent/controller/webhooks/namespace-offloading.js";
import { offloadingPatch, VIRTUAL_NODE_TOLERATION } from "../../../agent/controller/webhooks/pod-affinity.js";

const KEY = "offloading.liqo.io/eviction-after-disconnect";
const offloading = (delay?: string) =>
  NamespaceOffloadingResource.build({
    metadata: {
      name: "offloading",
      namespace: "shop",
      ...(delay === undefined ? {} : { annotations: { [KEY]: delay } }),
    },
    spec: { podOffloadingStrategy: "LocalAndRemote", namespaceMappingStrategy: "DefaultName" },
  });
const unreachable = (tolerationSeconds?: number): Toleration => ({
  key: "node.kubernetes.io/unreachable",
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});
const notReady = (tolerationSeconds?: number): Toleration => ({
  ...unreachable(tolerationSeconds),
  key: "node.kubernetes.io/not-ready",
});

describe("eviction after a disconnect", () => {
  it("is asked for in seconds or never, and refused otherwise where it is written", () => {
    expect(evictionDelayOf(offloading(), KEY)).to.equal(undefined);
    expect(evictionDelayOf(offloading("30"), KEY)).to.equal(30);
    expect(evictionDelayOf(offloading("never"), KEY)).to.equal("never");
    for (const wrong of ["", "-1", "30s", "Never"]) {
      expect(checkOffloading(offloading(wrong), "shop", "c").message, wrong).to.contain("eviction-after-disconnect");
    }
    expect(checkOffloading(offloading("0"), "shop", "c").allowed).to.equal(true);
  });

  it("takes the place of Kubernetes' default, and of nothing that a pod asks for", () => {
    expect(withEvictionDelay([notReady(300), unreachable(300)], 30)).to.deep.equal([notReady(30), unreachable(30)]);
    expect(withEvictionDelay([notReady(300), unreachable(7)], "never")).to.deep.equal([unreachable(7), notReady()]);
    const everything = { operator: "Exists" };
    expect(withEvictionDelay([everything], 30)).to.deep.equal([everything]);
  });

  it("comes to pods with what lets them run on virtual nodes", () => {
    const pod = { containers: [], tolerations: [notReady(300), unreachable(300)] };
    expect(offloadingPatch(pod, offloading("30").spec, 30)).to.deep.equal([
      { op: "add", path: "/spec/tolerations", value: [notReady(30), unreachable(30), VIRTUAL_NODE_TOLERATION] },
    ]);
  });
});
