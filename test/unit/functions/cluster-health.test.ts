import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod } from "kubernetes-types/core/v1";
import { healthOf } from "../../../provider/functions/cluster-info.js";

const labels = { "app.kubernetes.io/name": "controller-manager" };

function deployment(replicas: number): Deployment {
  return {
    metadata: { name: "controller", namespace: "liqo" },
    spec: { replicas, selector: { matchLabels: labels }, template: { spec: { containers: [{ name: "c" }] } } },
  };
}

function pod(name: string, phase: string, ready = false): Pod {
  return {
    metadata: { name, namespace: "liqo", labels },
    status: { phase, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

describe("the health of an installation", () => {
  it("is bad without pods, with the reason", () => {
    expect(healthOf([], [])).to.deep.equal({ healthy: false, unhealthyPods: {} });
    const none = { readyContainers: 0, totalContainers: 1, restarts: 0 };
    expect(healthOf([], [deployment(1)]).unhealthyPods).to.deep.equal({ controller: { status: "NoPods", ...none } });
    expect(healthOf([], [deployment(0)]).unhealthyPods?.["controller"]).to.include({ status: "ScaledToZero" });
    expect(healthOf([pod("done", "Succeeded")], [deployment(1)]).unhealthyPods).to.have.all.keys("controller");
  });

  it("is good again once a pod is ready, whatever remains of former ones", () => {
    const remains = [pod("evicted", "Failed"), pod("done", "Succeeded")];
    expect(healthOf([...remains, pod("new", "Running", true)], [deployment(1)])).to.deep.equal({ healthy: true });
    expect(healthOf([...remains, pod("new", "Pending")], [deployment(1)]).unhealthyPods).to.have.all.keys(
      "evicted",
      "new",
    );
  });
});
