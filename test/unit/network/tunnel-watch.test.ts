import { expect } from "chai";
import { pino } from "pino";
import { parseGatewayArguments } from "../../../agent/gateway/arguments.js";
import type { ConnectionReporter } from "../../../agent/gateway/connection-reporter.js";
import { PeerKeeper } from "../../../agent/gateway/peer-keeper.js";
import { TunnelWatch } from "../../../agent/gateway/tunnel-watch.js";
import type { NftablesTable, Run } from "../../../agent/net/index.js";
import { until } from "../../clusters/support/wait.js";

const COMMON = ["--name=b", "--namespace=t", "--remote-cluster-id=b", "--gateway-uid=u", "--mode=server"];

/** Its own peer, by loopback: only WireGuard is not there. */
describe("the watch over a tunnel", () => {
  it("tells with which keys the peer is heard, though the peer is being set anew when it first answers", async () => {
    const logger = pino({ level: "silent" });
    let looks = 0;
    const run: Run = (program) => {
      if (program !== "wg") return Promise.resolve("");
      const device = "KEY\tPUBLIC\t0\toff";
      const peer = "PEER\t(none)\t(none)\t0.0.0.0/0\t0\t0\t0\toff";
      return Promise.resolve(++looks === 1 ? device : `${device}\n${peer}`);
    };
    const sessions: string[][] = [];
    const reporter: Pick<ConnectionReporter, "report" | "reportSession" | "reportPath" | "reportSilence"> = {
      report: () => undefined,
      reportPath: () => undefined,
      reportSilence: () => undefined,
      reportSession: (...keys) => void sessions.push(keys),
    };
    const args = { ...parseGatewayArguments(COMMON, { NODE_NAME: "n1" }), pingIntervalMs: 100 };
    const watch = new TunnelWatch({
      run,
      args,
      tunnel: { device: "none", address: "127.0.0.1", peerAddress: "127.0.0.1", mtu: 1340 },
      table: {} as NftablesTable,
      peer: new PeerKeeper(run, args, undefined, logger),
      reporter: reporter as ConnectionReporter,
      logger,
    });
    await watch.listen();
    try {
      watch.start();
      await until("the keys of the session", 10_000, () => sessions.length > 0 || undefined);
      expect(sessions[0]).to.deep.equal(["PUBLIC", "PEER"]);
      expect(looks).to.be.above(1);
    } finally {
      watch.close();
    }
  });
});
