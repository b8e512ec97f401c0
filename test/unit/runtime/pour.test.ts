import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { PassThrough, Readable, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { pour } from "../../../agent/runtime/index.js";

/** Takes what it is given only when told to. */
class Sink extends Writable {
  readonly writes: Buffer[] = [];
  private go?: () => void;

  constructor(private readonly isSlow = false) {
    super();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(chunk);
    if (this.isSlow) this.go = done;
    else done();
  }

  takeOne(): void {
    this.go?.();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.writes);
  }
}

describe("runtime: pour", () => {
  it("passes all on in its order, and what comes at once in one piece", async () => {
    const from = new PassThrough();
    const to = new Sink();
    pour(from, to);
    const lines = Array.from({ length: 100 }, (_, index) => Buffer.from(`line ${index}\n`));
    for (const line of lines.slice(0, 60)) from.write(line);
    await turn();
    await turn();
    expect(to.writes.length).to.be.within(1, 3);
    for (const line of lines.slice(60)) from.write(line);
    from.end();
    await new Promise((resolve) => to.once("finish", resolve));
    expect(to.bytes.equals(Buffer.concat(lines))).to.equal(true);
  });

  it("lets nothing wait that comes alone", async () => {
    const from = new PassThrough();
    const to = new Sink();
    pour(from, to);
    from.write("one line");
    await turn();
    await turn();
    expect(to.bytes.toString()).to.equal("one line");
  });

  it("takes only so much of a fast stream at once, so that others get their turn", async () => {
    const chunk = randomBytes(2 ** 14);
    let read = 0;
    const from = new Readable({ read: () => void from.push(read++ < 1_000 ? chunk : null) });
    const to = new Sink();
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!to.writableFinished) setImmediate(count);
    };
    setImmediate(count);
    pour(from, to);
    await new Promise((resolve) => to.once("finish", resolve));
    expect(to.bytes.length).to.equal(1_000 * chunk.length);
    expect(turns).to.be.greaterThan(100);
  });

  it("takes no more than fits while the other side is slow, and all of it in the end", async () => {
    const from = new PassThrough();
    const to = new Sink(true);
    pour(from, to);
    const bytes = randomBytes(8 * 2 ** 20);
    let sent = 0;
    const chunk = 2 ** 16;
    const send = (): void => {
      while (sent < bytes.length) {
        const isRoom = from.write(bytes.subarray(sent, sent + chunk));
        sent += chunk;
        if (!isRoom) return void from.once("drain", send);
      }
      from.end();
    };
    send();
    for (let i = 0; i < 200; i++) await turn();
    expect(sent, "what was taken of a stream that nobody reads").to.be.lessThan(2 ** 20);
    const finished = new Promise((resolve) => to.once("finish", resolve));
    const reading = setInterval(() => to.takeOne(), 1);
    await finished;
    clearInterval(reading);
    expect(to.bytes.equals(bytes)).to.equal(true);
  });
});
