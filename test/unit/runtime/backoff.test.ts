import { expect } from "chai";
import fc from "fast-check";
import { Backoff, delay } from "../../../agent/runtime/index.js";

describe("runtime: Backoff", () => {
  it("grows, never passes its limit, and keeps at least half of each step", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.integer({ min: 1, max: 40 }), (random, steps) => {
        const backoff = new Backoff(100, 30_000, () => random);
        for (let step = 0; step < steps; step++) {
          const ceiling = Math.min(30_000, 100 * 2 ** Math.min(step, 30));
          const next = backoff.next();
          expect(next).to.be.within(ceiling / 2, ceiling);
        }
      }),
    );
  });

  it("starts again after a reset", () => {
    const backoff = new Backoff(100, 30_000, () => 1);
    backoff.next();
    backoff.next();
    backoff.reset();
    expect(backoff.next()).to.equal(100);
  });

  it("ends a delay as soon as its signal aborts", async () => {
    const abort = new AbortController();
    const started = Date.now();
    const waiting = delay(60_000, abort.signal);
    abort.abort();
    await waiting;
    expect(Date.now() - started).to.be.lessThan(10_000);
  });
});
