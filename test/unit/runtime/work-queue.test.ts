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
    queue.addAfter("a", 5_000);
    expect(await queue.take()).to.equal("a");
    expect(Date.now() - started).to.be.lessThan(1_000);
    queue.close();
  });

  it("releases its workers when closed", async () => {
    const queue = new WorkQueue();
    const taken = queue.take();
    queue.addAfter("late", 10_000);
    queue.close();
    expect(await taken).to.equal(undefined);
  });
});
