import { expect } from "chai";
import { Crowd } from "../../../agent/controller/offloading/shadow-pod/crowd.js";

describe("offloading: a crowd of pods", () => {
  it("is there while so many have come within so long", () => {
    let now = 1_000_000;
    const crowd = new Crowd(3, 200, () => now);
    crowd.come();
    crowd.come();
    expect(crowd.isThere).to.equal(false);
    now += 199;
    crowd.come();
    expect(crowd.isThere).to.equal(true);
    now += 1;
    expect(crowd.isThere).to.equal(false);
    crowd.come();
    expect(crowd.isThere, "of three, one came long before").to.equal(false);
  });
});
