import { expect } from "chai";
import { setImmediate as turn } from "node:timers/promises";
import { inParallel } from "../../../agent/runtime/index.js";

describe("work in parallel", () => {
  it("is done for so many at a time, for each once, with the answers in order", async () => {
    let running = 0;
    let most = 0;
    const items = Array.from({ length: 50 }, (_, index) => index);
    const answers = await inParallel(items, 4, async (item) => {
      most = Math.max(most, ++running);
      for (let turns = 0; turns < item % 3; turns++) await turn();
      running -= 1;
      return item * 2;
    });
    expect(answers).to.deep.equal(items.map((item) => item * 2));
    expect(most).to.equal(4);
    expect(await inParallel([], 4, turn)).to.deep.equal([]);
  });

  it("fails with the first failure, and begins no more where all fail", async () => {
    const begun: number[] = [];
    const failing = inParallel([1, 2, 3, 4], 2, (item) => {
      begun.push(item);
      return item === 1 ? Promise.resolve() : Promise.reject(new Error(`item ${item}`));
    });
    expect(await failing.catch((error: Error) => error.message)).to.equal("item 2");
    await turn();
    expect(begun).to.deep.equal([1, 2, 3]);
  });
});
