import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { PeerLine } from "../../../agent/controller/status/peer-line.js";
import type { KubeTransport } from "../../../agent/runtime/kube-transport.js";

describe("the line to a peer", () => {
  let server: http2.Http2Server;
  let session: http2.ClientHttp2Session;
  const interval = globalThis.setInterval;

  beforeEach(async () => {
    server = http2.createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(session, "connect");
  });

  afterEach(() => {
    globalThis.setInterval = interval;
    session.destroy();
    server.close();
  });

  /** Opens a line whose pings are sent when the test says so. */
  async function open(): Promise<{ line: PeerLine; ping: () => void }> {
    let ping: (() => void) | undefined;
    globalThis.setInterval = (tick: () => void) => {
      ping = tick;
      return interval(() => undefined, 3_600_000);
    };
    const transport = { connect: () => Promise.resolve(session) } as unknown as KubeTransport;
    const line = await PeerLine.open(transport, 1_000, new AbortController().signal);
    globalThis.setInterval = interval;
    if (!line || !ping) throw new Error("no line was opened, or it sends no pings");
    return { line, ping };
  }

  it("that has broken when its next ping is due ends, and nothing else does", async () => {
    const { line, ping } = await open();
    const ended = new Promise<boolean>((resolve) => line.whenEnded(resolve));
    // Its end is told later than it happens: HTTP/2 sessions take no pings from here on.
    session.destroy();
    expect(() => session.ping(() => undefined)).to.throw(/session has been destroyed/);
    expect(ping).to.not.throw();
    expect(await ended, "for silence").to.equal(false);
    expect(line.isOpen).to.equal(false);
  });

  it("ends for silence when a ping is due and the one before was not answered", async () => {
    const { line, ping } = await open();
    const ended = new Promise<boolean>((resolve) => line.whenEnded(resolve));
    ping();
    ping();
    expect(await ended, "for silence").to.equal(true);
  });
});
