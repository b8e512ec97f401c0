import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import { expect } from "chai";

const MODULE = new URL("../../support/interruption.ts", import.meta.url).href;
/** Longer than what counts as one and the same signal. */
const LATER_MS = 1_100;

/** A program that tidies up for as long as its argument says (milliseconds) before it ends. */
const PROGRAM = `
  import { whenInterrupted } from ${JSON.stringify(MODULE)};
  whenInterrupted("tidying", async () => {
    await new Promise((resolve) => setTimeout(resolve, Number(process.argv[1])));
    console.log("tidy");
  });
  setInterval(() => undefined, 60_000);
  console.log("started");
`;

describe("a program that is told to end", function () {
  this.timeout(30_000);
  let child: ChildProcessByStdio<null, Readable, Readable>;
  let lines: AsyncIterator<string>;
  let errors = "";

  async function start(tidyMs: number): Promise<void> {
    child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", PROGRAM, String(tidyMs)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect(await lines.next()).to.deep.include({ value: "started" });
  }

  afterEach(() => child.kill("SIGKILL"));

  it("tidies up first, and takes what a terminal and npm both tell it for one thing", async () => {
    await start(200);
    const ended = once(child, "exit");
    child.kill("SIGINT");
    child.kill("SIGINT");
    expect(await lines.next()).to.deep.include({ value: "tidy" });
    expect(await ended).to.deep.equal([130, null]);
    expect(errors).to.equal("\ninterrupted: tidying\n");
  });

  it("tidies up when its job is cancelled, too", async () => {
    await start(1);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await lines.next()).to.deep.include({ value: "tidy" });
    expect(await ended).to.deep.equal([130, null]);
  });

  it("ends at once when it is told again", async () => {
    await start(60_000);
    const ended = once(child, "exit");
    child.kill("SIGINT");
    // Time itself is what tells the two apart.
    await after(LATER_MS);
    child.kill("SIGINT");
    expect(await ended).to.deep.equal([130, null]);
    expect(await lines.next()).to.deep.include({ done: true });
  });
});
