import { expect } from "chai";
import { MinorChanges } from "../../../agent/virtual-node/pods/minor-changes.js";

describe("minor changes of pods' statuses", () => {
  let now = 0;
  let changes: MinorChanges;
  beforeEach(() => {
    now = 1_000_000;
    changes = new MinorChanges(() => now);
  });

  it("of a pod wait a second for each other, not for ever", () => {
    expect(changes.waitMs("a")).to.equal(1_000);
    for (let step = 0; step < 9; step++) {
      now += 100;
      expect(changes.waitMs("a")).to.equal(900 - step * 100);
    }
    now += 100;
    expect(changes.waitMs("a"), "the last of them").to.equal(0);
    changes.settle("a");
    expect(changes.waitMs("a"), "one that comes later").to.equal(1_000);
  });

  it("wait longer while many pods start, and no longer once those have settled", () => {
    const crowd = Array.from({ length: 11 }, (_, index) => `pod-${index}`);
    for (const uid of crowd) changes.waitMs(uid);
    now += 4_000;
    expect(changes.waitMs("pod-0")).to.equal(6_000);
    for (const uid of crowd.slice(1)) changes.settle(uid);
    expect(changes.waitMs("pod-0")).to.equal(0);
  });
});
