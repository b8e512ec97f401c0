import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import type { Credentials } from "../../../agent/runtime/index.js";
import { selfSignedCertificate } from "../../../agent/virtual-node/serving-certificate/serving-certificate.js";
import { relayUpgrade } from "../../../agent/virtual-node/kubelet-api/upgrade-relay.js";

const HANDSHAKE = [
  "POST /exec/ns/pod/main?command=sh HTTP/1.1",
  "Host: kubelet",
  "Authorization: Bearer callers-secret",
  "Impersonate-User: root",
  "X-Remote-User: root",
  "Connection: Upgrade",
  "Upgrade: SPDY/3.1",
  "X-Stream-Protocol-Version: v4.channel.k8s.io",
  "X-Stream-Protocol-Version: v3.channel.k8s.io",
  "Content-Length: 0",
  "",
  "",
].join("\r\n");
/** As kubectl speaks since 1.31. */
const WEBSOCKET_HANDSHAKE = [
  "GET /exec/ns/pod/main?command=sh HTTP/1.1",
  "Host: kubelet",
  "Authorization: Bearer callers-secret",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io",
  "",
  "",
].join("\r\n");
const ANSWER =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

/** What the provider's API server does with a connection that it has been asked to upgrade. */
type Provider = (request: http.IncomingMessage, socket: Duplex, head: Buffer) => void;

for (const secure of [false, true]) {
  describe(`upgraded streams over ${secure ? "TLS" : "TCP"}`, () => {
    const servers: (http.Server | https.Server)[] = [];
    const { certificate: cert, key } = selfSignedCertificate("node", "127.0.0.1");
    const listen = async (server: http.Server | https.Server): Promise<number> => {
      servers.push(server);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    };
    const create = (): http.Server | https.Server => (secure ? https.createServer({ cert, key }) : http.createServer());

    /** Client → relay → provider; returns the client's connection after it has sent the handshake and more behind it. */
    const connect = async (provider: Provider, early: Buffer): Promise<net.Socket> => {
      const upstream = create();
      upstream.on("upgrade", provider);
      return connectTo(upstream, early);
    };
    const connectTo = async (
      upstream: http.Server | https.Server,
      early: Buffer,
      handshake = HANDSHAKE,
    ): Promise<net.Socket> => {
      const server = new URL(`${secure ? "https" : "http"}://127.0.0.1:${await listen(upstream)}`);
      const agent = secure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
      const credentials: Credentials = {
        server,
        agent,
        headers: { authorization: "Bearer tenant" },
        tls: { rejectUnauthorized: false },
      };
      const relay = create();
      relay.on("upgrade", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
        void relayUpgrade({ request, socket, head }, credentials, "/api/v1/exec?command=sh");
      });
      const port = await listen(relay);
      const client = secure
        ? tls.connect({
            port,
            host: "127.0.0.1",
            rejectUnauthorized: false,
            allowHalfOpen: true,
          } as tls.ConnectionOptions)
        : net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      await once(client, secure ? "secureConnect" : "connect");
      client.write(Buffer.concat([Buffer.from(handshake), early]));
      return client;
    };
    /** Not by iteration, which would close the writing side too. */
    const readAll = (stream: Duplex): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.once("end", () => resolve(Buffer.concat(chunks)));
        stream.once("error", reject);
      });

    after(() => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    });

    it("are passed through byte for byte, with a half close that lets the answer come", async () => {
      const [early, late, answer] = [randomBytes(1_000), randomBytes(3_000_000), randomBytes(3_000_000)];
      let received: Buffer = Buffer.alloc(0);
      let headers: http.IncomingHttpHeaders = {};
      let url: string | undefined;
      const client = await connect((request, socket, head) => {
        ({ headers, url } = request);
        socket.write(ANSWER);
        socket.write("early answer");
        socket.allowHalfOpen = true;
        socket.unshift(head);
        void readAll(socket).then((bytes) => {
          received = bytes;
          socket.end(answer);
        });
      }, early);
      const reply = readAll(client);
      client.end(late);
      const text = await reply;
      expect(received.equals(Buffer.concat([early, late]))).to.equal(true);
      expect(text.equals(Buffer.concat([Buffer.from(`${ANSWER}early answer`), answer]))).to.equal(true);
      expect(url).to.equal("/api/v1/exec?command=sh");
      expect(headers).to.include({
        upgrade: "SPDY/3.1",
        "x-stream-protocol-version": "v4.channel.k8s.io, v3.channel.k8s.io",
        authorization: "Bearer tenant",
      });
      expect(headers).to.not.have.any.keys("impersonate-user", "x-remote-user");
    });

    it("of a WebSocket are passed through byte for byte, with what both sides agree upon", async () => {
      const [early, late, answer] = [randomBytes(1_000), randomBytes(1_000_000), randomBytes(1_000_000)];
      const agreed = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "Sec-WebSocket-Protocol: v5.channel.k8s.io",
        "",
        "",
      ].join("\r\n");
      let asked: Pick<http.IncomingMessage, "method" | "url" | "headers"> | undefined;
      const chunks: Buffer[] = [];
      const upstream = create();
      upstream.on("upgrade", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
        asked = request;
        socket.write(agreed);
        socket.unshift(head);
        let received = 0;
        socket.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          received += chunk.length;
          if (received === early.length + late.length) socket.end(answer);
        });
      });
      const client = await connectTo(upstream, early, WEBSOCKET_HANDSHAKE);
      const reply = readAll(client);
      client.write(late);
      const text = await reply;
      client.end();
      expect(Buffer.concat(chunks).equals(Buffer.concat([early, late]))).to.equal(true);
      const end = text.indexOf("\r\n\r\n") + 4;
      expect(text.subarray(0, end).toString().toLowerCase().split("\r\n")).to.have.members(
        agreed.toLowerCase().split("\r\n"),
      );
      expect(text.subarray(end).equals(answer)).to.equal(true);
      expect(asked).to.include({ method: "GET", url: "/api/v1/exec?command=sh" });
      expect(asked?.headers).to.include({
        upgrade: "websocket",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "13",
        "sec-websocket-protocol": "v5.channel.k8s.io, v4.channel.k8s.io",
        authorization: "Bearer tenant",
      });
    });

    it("end for the client when the provider's side ends", async () => {
      const client = await connect((_request, socket) => void socket.end(`${ANSWER}bye`), Buffer.alloc(0));
      expect((await readAll(client)).toString()).to.equal(`${ANSWER}bye`);
      client.end();
    });

    it("break for one side when the other breaks", async () => {
      const gone = new Promise<void>((resolve, reject) => {
        connect((_request, socket) => {
          socket.on("error", () => undefined);
          socket.once("end", () => resolve());
          socket.once("close", () => resolve());
          socket.write(ANSWER);
          socket.resume();
        }, Buffer.alloc(0)).then((client) => {
          client.once("data", () => client.destroy());
        }, reject);
      });
      await gone;
    });

    it("break off where a refusal breaks off, and end nothing else", async () => {
      const upstream = create();
      upstream.on("request", (_request: http.IncomingMessage, response: http.ServerResponse) => {
        response.writeHead(404, { "content-length": "1000" }).write("half of", () => response.destroy());
      });
      const client = await connectTo(upstream, Buffer.alloc(0));
      const text = (await readAll(client)).toString();
      expect(text).to.contain("half of");
      client.end();
    });

    it("are refused as the provider refuses them", async () => {
      const body = JSON.stringify({ kind: "Status", message: "container not found" });
      const upstream = create();
      upstream.on("request", (_request: http.IncomingMessage, response: http.ServerResponse) => {
        response.writeHead(404, { "content-type": "application/json" }).end(body);
      });
      const client = await connectTo(upstream, Buffer.alloc(0));
      const text = (await readAll(client)).toString();
      expect(text).to.match(/^HTTP\/1\.1 404 Not Found\r\n/);
      expect(text.split("\r\n\r\n")[1]).to.equal(body);
      client.end();
    });
  });
}
