import { mock } from "node:test";
import { expect } from "chai";
import { NftablesTable, tableText, type Run } from "../../../agent/net/index.js";

/** The kernel's side of a table: written anew, it has another handle and counts from nothing. */
class Kernel {
  packets: Record<string, number> = {};
  looks = 0;
  refusesLooks = false;
  chain = "guard";
  private handle = 0;

  readonly run: Run = (_program, args, input = "") => {
    if (!args.includes("-j")) {
      if (input.includes("{")) this.write();
      return Promise.resolve("");
    }
    this.looks += 1;
    return this.refusesLooks ? Promise.reject(new Error("nft: not now")) : Promise.resolve(this.listing());
  };

  write(): void {
    this.handle += 1;
    this.chain = "guard";
    this.packets = { a: 0, b: 0 };
  }

  listing(): string {
    const counters = Object.entries(this.packets).map(([name, packets], index) => ({
      counter: { family: "ip", name, table: "liqo", handle: index + 1, packets, bytes: packets * 84 },
    }));
    const metainfo = { version: "1.0.6", json_schema_version: 1 };
    const table = { family: "ip", name: "liqo", handle: this.handle };
    return JSON.stringify({
      nftables: [{ metainfo }, { table }, ...counters, { chain: { name: this.chain, handle: 9 } }],
    });
  }
}

describe("named counters of a table", () => {
  const texts = [tableText(["counter a { }"]), tableText(["counter a { }", "chain x {}"])] as const;

  async function written(): Promise<{ kernel: Kernel; table: NftablesTable }> {
    const kernel = new Kernel();
    const table = new NftablesTable(kernel.run);
    await table.apply(texts[0]);
    return { kernel, table };
  }

  it("are told in packets", async () => {
    const { kernel, table } = await written();
    expect(await table.counters()).to.deep.equal({ a: 0, b: 0 });
    kernel.packets = { a: 3, b: 1 };
    expect(await table.counters()).to.deep.equal({ a: 3, b: 1 });
  });

  it("go on when the table is written anew, whoever looked before", async () => {
    const { kernel, table } = await written();
    kernel.packets.a = 5;
    await table.apply(texts[1]);
    expect(await table.counters()).to.deep.equal({ a: 5, b: 0 });
    // More than before: not to be told from counts that have gone on, but by the table.
    kernel.packets.a = 7;
    expect(await table.counters()).to.deep.equal({ a: 12, b: 0 });
    await table.apply(texts[0]);
    await table.apply(texts[1]);
    expect(await table.counters()).to.deep.equal({ a: 12, b: 0 });
  });

  it("go on when somebody else has written the table, from where they were last seen", async () => {
    const { kernel, table } = await written();
    kernel.packets.a = 5;
    await table.counters();
    kernel.write();
    kernel.packets.a = 1;
    expect(await table.counters()).to.deep.equal({ a: 6, b: 0 });
  });

  it("are not led astray by an answer about a table that has been replaced meanwhile", async () => {
    const { kernel } = await written();
    kernel.packets.a = 5;
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    let isLate = true;
    const slow: Run = async (...call) => {
      const output = await kernel.run(...call);
      if (call[1].includes("-j") && isLate) {
        isLate = false;
        await late;
      }
      return output;
    };
    const own = new NftablesTable(slow);
    const before = own.counters();
    await own.apply(texts[0]);
    await own.counters();
    kernel.packets.a = 1;
    expect(await own.counters()).to.deep.include({ a: 1 });
    answer();
    await before;
    expect(await own.counters()).to.deep.include({ a: 1 });
  });

  it("keep nobody from writing where they cannot be read, and cost no look at the first writing", async () => {
    const { kernel, table } = await written();
    expect(kernel.looks).to.equal(0);
    kernel.refusesLooks = true;
    expect(await table.apply(texts[1])).to.equal(true);
    kernel.refusesLooks = false;
    expect(await table.counters()).to.deep.equal({ a: 0, b: 0 });
  });
});

describe("a table that somebody else changes", () => {
  const text = tableText(["chain guard { }"]);

  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("is written anew, also where that was before anybody has looked for another reason", async () => {
    const kernel = new Kernel();
    const table = new NftablesTable(kernel.run);
    await table.apply(text);
    expect(kernel.looks).to.equal(0);
    mock.timers.tick(1_000);
    await new Promise((resolve) => setImmediate(resolve));
    kernel.chain = "another";
    expect(await table.apply(text)).to.equal(true);
    expect(await table.apply(text)).to.equal(false);
  });
});
