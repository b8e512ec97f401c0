import dgram from "node:dgram";
import { once } from "node:events";
import { expect } from "chai";
import { pino } from "pino";
import { PathProbeResponder, type PathVerdict } from "../../../agent/gateway/path-probe.js";
import { PathWatch } from "../../../agent/gateway/path-watch.js";

describe("the watch over full-size packets", function () {
  this.timeout(20_000);
  let peer: dgram.Socket;
  let port: number;
  let watch: PathWatch;

  beforeEach(async () => {
    peer = dgram.createSocket("udp4").bind(0, "127.0.0.1");
    await once(peer, "listening");
    ({ port } = peer.address());
  });
  afterEach(() => watch.stop());

  /** The first verdict of a peer that is silent when it begins. */
  function firstVerdict(): Promise<PathVerdict> {
    return new Promise((resolve) => {
      const run = () => Promise.resolve("");
      const options = { run, peerAddress: "127.0.0.1", port, mtu: 1340, logger: pino({ level: "silent" }) };
      watch = new PathWatch({ ...options, onVerdict: resolve });
      watch.restart();
    });
  }

  it("does not give up a peer that answers a moment later", async () => {
    const verdict = firstVerdict();
    // One look: three tries of the full size, and three of the smallest.
    for (let tries = 0; tries < 6; tries++) await once(peer, "message");
    const responder = new PathProbeResponder(port);
    await new Promise<void>((resolve) => peer.close(resolve));
    await responder.listen();
    expect(await verdict).to.deep.equal({ state: "fits" });
    responder.close();
  });

  it("says of a peer that stays silent that nothing is known", async () => {
    expect(await firstVerdict()).to.deep.equal({ state: "unknown" });
    await new Promise<void>((resolve) => peer.close(resolve));
  });
});
