import { expect } from "chai";
import { hasGrown, type Growth } from "../../soak/memory-watch.js";
import { Random } from "../../soak/random.js";

describe("a soak", () => {
  it("makes the same choices with the same seed, and others with another", () => {
    const choices = (seed: number): number[] => {
      const random = new Random(seed);
      return Array.from({ length: 50 }, () => random.integer(1, 1_000));
    };
    expect(choices(7)).to.deep.equal(choices(7));
    expect(choices(7)).to.not.deep.equal(choices(8));
    expect(choices(7).every((choice) => choice >= 1 && choice <= 1_000)).to.equal(true);
    expect(new Random(1).shuffled([1, 2, 3, 4]).sort()).to.deep.equal([1, 2, 3, 4]);
  });

  it("finds fault with a process that grows by more than a tenth, if it was looked at for long enough", () => {
    const growth: Growth = { process: "virtual-node", fromMiB: 60, toMiB: 66.1, seconds: 400, isJudged: true };
    expect(hasGrown(growth)).to.equal(true);
    expect(hasGrown({ ...growth, toMiB: 65.9 })).to.equal(false);
    expect(hasGrown({ ...growth, isJudged: false })).to.equal(false);
  });
});
