import { expect } from "chai";
import { FastPathTable } from "../../../agent/gateway/fast-path-table.js";
import { CommandError, type Run } from "../../../agent/net/index.js";
import type { Logger } from "../../../agent/runtime/index.js";
import { GATEWAY_STATE } from "../../support/gateway-state.js";

/** nftables with one table, as far as it is asked here. `fails` says of a run why it fails. */
function nftables(fails: (args: readonly string[], input: string) => string | undefined) {
  const seen = { table: undefined as string | undefined, told: [] as string[] };
  const run: Run = (_program, args, input = "") => {
    const refuse = (why: string) => Promise.reject(new CommandError("nft", args, 1, why));
    const why = fails(args, input);
    if (why !== undefined) return refuse(why);
    if (args.includes("list"))
      return seen.table === undefined
        ? refuse("Error: No such file or directory")
        : Promise.resolve(JSON.stringify({ nftables: [{ table: { handle: 1 } }, seen.table] }));
    if (args.includes("-f")) seen.table = input.includes("chain") ? input : undefined;
    return Promise.resolve("");
  };
  const logger = { info: ({ reason }: { reason: string }) => seen.told.push(reason) } as unknown as Logger;
  return { seen, run, logger };
}

describe("a gateway's short way", () => {
  it("is there where it is free, and goes with what there is to hand on", async () => {
    const { seen, run, logger } = nftables(() => undefined);
    const fastPath = new FastPathTable(run, () => true, logger);
    await fastPath.apply(GATEWAY_STATE);
    expect(seen.table).to.contain('fwd ip to 169.254.18.2 device "liqo-tunnel"');
    await fastPath.apply({ ...GATEWAY_STATE, remote: { pods: [], external: [] } });
    expect(seen.table).to.equal(undefined);
    await fastPath.apply(GATEWAY_STATE);
    await fastPath.remove();
    expect(seen).to.deep.equal({ table: undefined, told: [] });
  });

  it("is left out where the kernel cannot do it, which is told once", async () => {
    const { seen, run, logger } = nftables((args) =>
      args.includes("--check") ? "Error: Could not process rule: Operation not supported" : undefined,
    );
    const fastPath = new FastPathTable(run, () => true, logger);
    await fastPath.apply(GATEWAY_STATE);
    await fastPath.apply(GATEWAY_STATE);
    expect(seen.table).to.equal(undefined);
    expect(seen.told).to.have.length(1);
    expect(seen.told[0]).to.contain("Operation not supported");
  });

  it("is closed, and no failure, when it cannot be written as it should be", async () => {
    let isRefused = false;
    const { seen, run, logger } = nftables((args, input) =>
      isRefused && args.includes("-f") && input.includes("chain") ? "Error: no such device" : undefined,
    );
    const fastPath = new FastPathTable(run, () => true, logger);
    await fastPath.apply(GATEWAY_STATE);
    isRefused = true;
    await fastPath.apply({ ...GATEWAY_STATE, mappings: [{ lent: "10.70.0.1", target: "10.244.1.9" }] });
    expect(seen.table).to.equal(undefined);
    isRefused = false;
    await fastPath.apply(GATEWAY_STATE);
    expect(seen.table).to.contain("fwd");
    expect(seen.told).to.have.length(1);
  });
});
