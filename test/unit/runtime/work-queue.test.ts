import { expect } from "chai";
import { WorkQueue } from "../../../agent/runtime/index.js";

describe("runtime: WorkQueue", () => {
  it("joins duplicates that wait", async () => {
    const queue = new WorkQueue();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    expect(await queue.take()).to.equal("a");
    expect(await queue.take()).to.equal("b");
    expect(queue.length).to.equal(0);
  });

  it("never hands out a key that is being worked on, and hands it out again afterwards", async () => {
    const queue = new WorkQueue();
    queue.add("a");
    await queue.take();
    queue.add("a");
    expect(queue.length).to.equal(0);
    queue.done("a");
    expect(await queue.take()).to.equal("a");
  });

  it("gives a key at once to a worker that waits", async () => {
    const queue = new WorkQueue();
    const taken = queue.take();
    queue.add("a");
    expect(await taken).to.equal("a");
    queue.add("a");
    queue.done("a");
    expect(queue.length).to.equal(1);
  });

  it("keeps the earlier of two appointments", async () => {
    const queue = new WorkQueue();
    const started = Date.now();
    queue.addAfter("a", 20);
    queue.addAfter("a", 60_000);
    expect(await queue.take()).to.equal("a");
    expect(Date.now() - started).to.be.lessThan(10_000);
    queue.close();
  });

  it("releases its workers when closed", async () => {
    const queue = new WorkQueue();
    const taken = queue.take();
    queue.addAfter("late", 10_000);
    queue.close();
    expect(await taken).to.equal(undefined);
  });

  it("hands nothing out before its time, however far that is", async () => {
    const queue = new WorkQueue();
    queue.addAfter("far", 2 ** 32 * 1000);
    queue.addAfter("near", 30);
    expect(await queue.take()).to.equal("near");
    expect(queue.length).to.equal(0);
    queue.close();
  });

  describe("urgency", () => {
    const taken = async (queue: WorkQueue, count: number): Promise<(string | undefined)[]> => {
      const keys: (string | undefined)[] = [];
      for (let i = 0; i < count; i++) keys.push(await queue.take());
      return keys;
    };

    it("brings keys before those that came earlier, each kind in its order", async () => {
      const queue = new WorkQueue();
      for (const key of ["a", "b"]) queue.add(key);
      for (const key of ["x", "y"]) queue.add(key, true);
      expect(queue.length).to.equal(4);
      expect(await taken(queue, 4)).to.deep.equal(["x", "y", "a", "b"]);
    });

    it("is given to a key that waits already, and not taken from it", async () => {
      const queue = new WorkQueue();
      for (const key of ["a", "b", "c"]) queue.add(key);
      queue.add("c", true);
      queue.add("c");
      expect(queue.length).to.equal(3);
      expect(await taken(queue, 3)).to.deep.equal(["c", "a", "b"]);
    });

    it("lasts when the key comes while it is worked on", async () => {
      const queue = new WorkQueue();
      queue.add("x");
      await queue.take();
      queue.add("a");
      queue.add("x", true);
      queue.add("x");
      queue.done("x");
      expect(await taken(queue, 2)).to.deep.equal(["x", "a"]);
    });

    it("of ever more keys does not keep another waiting for ever", async () => {
      const queue = new WorkQueue();
      queue.add("a");
      for (let i = 0; i < 50; i++) queue.add(`x${i}`, true);
      expect(await taken(queue, 12)).to.include("a");
    });
  });
});
