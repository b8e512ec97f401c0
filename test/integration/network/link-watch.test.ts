import { expect } from "chai";
import { LinkWatch, commandRunner } from "../../../agent/net/index.js";
import { until } from "../../clusters/support/wait.js";

const LINK = `plqw${process.pid % 100_000}`;

describe("what happens to links", function () {
  this.timeout(90_000);
  const run = commandRunner();
  const lines: string[] = [];
  const watch = new LinkWatch({ objects: ["link", "neigh"], onChange: (line) => lines.push(line) });

  before(function () {
    if (process.getuid?.() !== 0) this.skip();
    watch.start();
  });

  after(async () => {
    watch.stop();
    await run("ip", ["link", "del", LINK]).catch(() => undefined);
  });

  /** The kernel tells nothing of before, so the link comes and goes until it is heard of. */
  function heardOf(): Promise<true> {
    lines.length = 0;
    return until("word of a link that came and went", 30_000, async () => {
      await run("ip", ["link", "add", LINK, "type", "veth", "peer", "name", `${LINK}p`]);
      await run("ip", ["link", "del", LINK]);
      const heard = (start: string) => lines.some((line) => line.startsWith(start) && line.includes(`${LINK}@`));
      return heard("Deleted ") || undefined;
    });
  }

  it("is heard of line by line", async () => {
    await heardOf();
    expect(lines.filter((line) => line.includes(LINK))).to.have.length.greaterThan(1);
  });

  it("is heard of again after the program that tells it has ended", async () => {
    const child = (watch as unknown as { child: { pid: number; kill: (signal: string) => void } }).child;
    child.kill("SIGKILL");
    await until("its end", 20_000, () => {
      try {
        process.kill(child.pid, 0);
        return undefined;
      } catch {
        return true;
      }
    });
    await heardOf();
  });
});
