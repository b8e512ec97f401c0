import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";

/** Much happens, of which nothing stays; then how large the young generation is, in MiB. */
const BURST = `
let kept = [];
for (let round = 0; round < 100; round += 1) {
  kept = [];
  for (let index = 0; index < 20_000; index += 1) kept.push({ index, text: "object " + index });
}
const space = require("node:v8").getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
process.stdout.write(String(space.space_size / 1024 ** 2));`;

const MODULE = new URL("../../../agent/runtime/small-heap.ts", import.meta.url).pathname;
const SMALL = `require(${JSON.stringify(MODULE)}).keepHeapSmall();`;

async function youngMiB(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--eval", program]);
  return Number(stdout);
}

describe("small heap", () => {
  it("does not grow its young generation, as a process does by itself", async () => {
    const [usual, small] = await Promise.all([youngMiB(BURST), youngMiB(SMALL + BURST)]);
    expect(usual).to.be.above(8);
    expect(small).to.be.at.most(2);
  });
});
