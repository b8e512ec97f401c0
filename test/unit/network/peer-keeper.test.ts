import { expect } from "chai";
import { pino } from "pino";
import { parseGatewayArguments } from "../../../agent/gateway/arguments.js";
import { EndpointChooser } from "../../../agent/gateway/endpoint-chooser.js";
import { PeerKeeper, restartInterval } from "../../../agent/gateway/peer-keeper.js";
import type { Run } from "../../../agent/net/index.js";

const PORT = 30_742;
const COMMON = ["--name=b", "--namespace=t", "--remote-cluster-id=b", "--gateway-uid=u", "--mode=client"];
const ENDPOINT = ["--endpoint-address=192.0.2.1", "--endpoint-address=192.0.2.2", `--endpoint-port=${PORT}`];
/** Longer than any silence after which a client does nothing yet. */
const SILENT_MS = 2_000;

describe("a client's session with the server", () => {
  /** As `wg show dump` tells it. */
  let peer: { endpoint: string; handshake: number; received: number } | undefined;
  let sets: string[];
  let keeper: PeerKeeper;

  beforeEach(async () => {
    [peer, sets] = [undefined, []];
    const run: Run = (_program, args) => {
      if (args[0] === "set") sets.push(args.slice(2).join(" "));
      const [, endpoint] = /endpoint (\S+)/.exec(args.join(" ")) ?? [];
      if (endpoint !== undefined) peer = { endpoint, handshake: 0, received: 0 };
      const device = "KEY\tPUBLIC\t0\toff";
      const line = peer && `PEER\t(none)\t${peer.endpoint}\t0.0.0.0/0\t${peer.handshake}\t${peer.received}\t0\toff`;
      return Promise.resolve([device, line].filter(Boolean).join("\n"));
    };
    const args = parseGatewayArguments([...COMMON, ...ENDPOINT], { NODE_NAME: "n1" });
    const chooser = new EndpointChooser({ addresses: args.endpointAddresses, port: args.endpointPort });
    await chooser.refresh();
    keeper = new PeerKeeper(run, args, chooser, pino({ level: "silent" }));
    expect(await keeper.apply("KEY", "PEER")).to.equal(true);
    // As if it had been set up long ago.
    keeper.configuredAt = Date.now() - 5_000;
    sets = [];
  });

  it("is begun anew with the address that it has, then with the next ones in turn, while nobody answers", async () => {
    const tried: (string | undefined)[] = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await keeper.revive(SILENT_MS)).to.equal(true);
      tried.push(peer?.endpoint);
      // Not again at once.
      expect(await keeper.revive(SILENT_MS)).to.equal(false);
      await new Promise((resolve) => setTimeout(resolve, restartInterval(0) + 20));
    }
    expect(tried).to.deep.equal([`192.0.2.1:${PORT}`, `192.0.2.2:${PORT}`, `192.0.2.1:${PORT}`]);
  });

  it("is left alone while packets of the server come in", async () => {
    peer = { endpoint: `192.0.2.1:${PORT}`, handshake: Date.now() / 1000, received: 100 };
    expect(await keeper.revive(SILENT_MS)).to.equal(false);
    peer.received = 200;
    expect(await keeper.revive(SILENT_MS)).to.equal(false);
    expect(sets).to.deep.equal([]);
    expect(await keeper.revive(SILENT_MS)).to.equal(true);
    expect(sets).to.deep.equal(["peer PEER remove", `peer PEER endpoint 192.0.2.1:${PORT} allowed-ips 0.0.0.0/0`]);
  });

  it("ends with the peer's key", async () => {
    expect(await keeper.apply("KEY", undefined)).to.equal(false);
    expect(sets).to.deep.equal(["peer PEER remove"]);
    expect(await keeper.revive(SILENT_MS)).to.equal(false);
  });

  it("is not put back when the peer's key goes while it is begun anew", async () => {
    const revived = keeper.revive(SILENT_MS);
    await Promise.all([revived, keeper.apply("KEY", undefined)]);
    expect(sets.at(-1)).to.equal("peer PEER remove");
    expect(await keeper.revive(SILENT_MS)).to.equal(false);
  });
});
