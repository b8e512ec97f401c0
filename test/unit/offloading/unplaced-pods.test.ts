import { expect } from "chai";
import type { Pod, PodStatus } from "kubernetes-types/core/v1";
import { unplacedSince } from "../../../agent/controller/offloading/unplaced-pods-controller.js";

const CREATED = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:05:00Z";

const pod = (status: PodStatus, metadata: Pod["metadata"] = {}): Pod => ({
  metadata: { name: "p", namespace: "app", creationTimestamp: CREATED, ...metadata },
  status: { phase: "Pending", ...status },
});
const scheduled = (status: string, lastTransitionTime: string): PodStatus => ({
  conditions: [{ type: "PodScheduled", status, lastTransitionTime }],
});
const refused = (lastTransitionTime: string): PodStatus => ({
  reason: "OffloadingRefused",
  conditions: [
    { type: "PodScheduled", status: "True", lastTransitionTime: CREATED },
    { type: "Ready", status: "False", lastTransitionTime },
  ],
});

describe("a pod that its provider has no room for", () => {
  it("waits since the provider's scheduler, or its API server, has said so", () => {
    expect(unplacedSince(pod(scheduled("False", LATER)))).to.equal(Date.parse(LATER));
    expect(unplacedSince(pod(refused(LATER)))).to.equal(Date.parse(LATER));
  });

  it("waits no longer than it has been there, and not into the future, whatever the provider's clock says", () => {
    expect(unplacedSince(pod(scheduled("False", "2020-01-01T00:00:00Z")))).to.equal(Date.parse(CREATED));
    expect(unplacedSince(pod(scheduled("False", "2999-01-01T00:00:00Z")))).to.be.at.most(Date.now());
  });

  it("is none that runs, has a node there, ends, or whose provider is out of reach", () => {
    expect(unplacedSince(pod({ ...scheduled("False", LATER), phase: "Running" }))).to.equal(undefined);
    expect(unplacedSince(pod(scheduled("True", LATER)))).to.equal(undefined);
    expect(unplacedSince(pod({}))).to.equal(undefined);
    expect(unplacedSince(pod(refused(LATER), { deletionTimestamp: LATER }))).to.equal(undefined);
    const labels = { "liqo.io/remote-unavailable": "true" };
    expect(unplacedSince(pod(scheduled("False", LATER), { labels }))).to.equal(undefined);
  });
});
