import { expect } from "chai";
import { pino } from "pino";
import {
  NftablesTable,
  TABLE,
  addPortNeighbours,
  applyRouting,
  tableText,
  tellChanges,
  type Run,
  type RoutingPlan,
} from "../../../agent/net/index.js";

/** A host that answers questions as the kernel would once a plan is carried out. */
class Host {
  readonly lines: string[] = [];
  private table?: string;
  private routes: object[] = [];
  private rules: object[] = [];
  fails = false;

  readonly run: Run = tellChanges(
    (program, args, input = "") => {
      if (args.includes("-j")) return Promise.resolve(this.answer(program, args));
      if (this.fails) return Promise.reject(new Error("refused"));
      if (program === "nft") this.table = input;
      else {
        this.routes = [{ dst: "10.1.0.0/16", dev: "liqo.a" }];
        this.rules = [{ priority: 1, table: "7", protocol: "76" }];
      }
      return Promise.resolve("");
    },
    pino(
      { base: null, timestamp: false },
      {
        write: (line) => {
          const { program, change } = JSON.parse(line) as { program: string; change: string };
          this.lines.push(`${program}: ${change}`);
        },
      },
    ),
  );

  private answer(program: string, args: readonly string[]): string {
    if (program === "nft") return JSON.stringify({ nftables: [{ table: this.table }] });
    return JSON.stringify(args.includes("rule") ? this.rules : this.routes);
  }
}

describe("changes of the kernel's state, as logs tell them", () => {
  const plan: RoutingPlan = {
    rules: [{ priority: 1, table: 7 }],
    tables: [{ id: 7, routes: [{ destination: "10.1.0.0/16", device: "liqo.a" }] }],
  };

  it("are a line each, and none in a pass that finds all as it should be", async () => {
    const host = new Host();
    const table = new NftablesTable(host.run);
    const pass = async (): Promise<void> => {
      await table.apply(tableText(["chain a {}"]));
      await applyRouting(host.run, plan);
    };
    await pass();
    expect(host.lines).to.deep.equal([
      `nft: table ${TABLE}`,
      "ip: route replace 10.1.0.0/16 dev liqo.a table 7 proto 76",
      "ip: rule add priority 1 lookup 7 protocol 76",
    ]);
    for (let more = 0; more < 3; more++) await pass();
    expect(host.lines).to.have.length(3);
    await table.remove();
    expect(host.lines.slice(3)).to.deep.equal([`nft: delete table ${TABLE}`]);
  });

  it("are none for neighbours at their ports that are there already", async () => {
    const neighbour = { address: "10.1.0.9", device: "veth1", hardwareAddress: "02:00:00:00:00:01" };
    const present: object[] = [];
    const lines: string[] = [];
    const run: Run = (_program, args, input) => {
      if (args.includes("-j")) return Promise.resolve(JSON.stringify(present));
      lines.push(input ?? "");
      present.push({ dst: "10.1.0.9", dev: "veth1", lladdr: "02:00:00:00:00:01" });
      return Promise.resolve("");
    };
    for (let pass = 0; pass < 3; pass++) await addPortNeighbours(run, [neighbour]);
    expect(lines).to.have.length(1);
    await addPortNeighbours(run, [{ ...neighbour, hardwareAddress: "02:00:00:00:00:02" }]);
    expect(lines).to.have.length(2);
  });

  it("are none where the kernel refuses", async () => {
    const host = new Host();
    host.fails = true;
    await applyRouting(host.run, plan).catch(() => undefined);
    expect(host.lines).to.deep.equal([]);
  });
});
