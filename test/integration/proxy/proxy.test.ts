import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import { ConnectProxy } from "../../../agent/proxy/connect-proxy.js";
import { ConfigMapResource, KubeClient, createLogger } from "../../../agent/runtime/index.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";

const logger = createLogger("test");
logger.level = "silent";

describe("the API server's proxy", function () {
  this.timeout(60_000);
  let server: ApiServer;
  let port: number;
  let proxy: ConnectProxy;
  let proxyPort: number;
  /** Something else that listens here: nothing may ever arrive at it. */
  let other: net.Server;
  let visits = 0;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    server = await startApiServer({ crds: false });
    port = Number(new URL(server.url).port);
    proxy = new ConnectProxy({ apiServer: { host: "127.0.0.1", port } }, logger);
    proxyPort = await proxy.listen(0);
    other = net.createServer((socket) => {
      visits += 1;
      socket.destroy();
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
  });

  after(async () => {
    await proxy?.stop();
    other?.close();
    await server?.stop();
  });

  function viaProxy(url = `http://127.0.0.1:${proxyPort}`): KubeClient {
    const config = parse(server.kubeconfig) as { clusters: { cluster: Record<string, string> }[] };
    config.clusters[0]!.cluster["proxy-url"] = url;
    return KubeClient.fromText(stringify(config));
  }

  /** Status and body of a CONNECT request for a target, as it is written. */
  async function connect(target: string): Promise<{ status: number; body: string }> {
    const socket = net.connect(proxyPort, "127.0.0.1");
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`);
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) {
      text += chunk as string;
      if (/^HTTP\/1\.1 200/.test(text)) break;
    }
    socket.destroy();
    return { status: Number(text.split(" ")[1]), body: text.split("\r\n\r\n")[1] ?? "" };
  }

  it("carries requests and watches", async () => {
    const client = viaProxy();
    const id = { name: "watched", namespace: "default" };
    await client.create(ConfigMapResource, { metadata: id, data: { a: "1" } });
    const end = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      const options = { namespace: "default", fieldSelector: "metadata.name=watched", signal: end.signal };
      for await (const event of client.watch(ConfigMapResource, options)) {
        if (event.type === "ERROR") throw new Error(event.object.message);
        seen.push(event.object.data?.["a"] ?? "");
        if (seen.includes("2")) return;
      }
    })();
    await client.mergePatch(ConfigMapResource, id, { data: { a: "2" } });
    await watching;
    end.abort();
    expect(seen.at(-1)).to.equal("2");
    client.close();
  });

  it("takes the API server by any name of its certificate", async () => {
    expect((await connect(`localhost:${port}`)).status).to.equal(200);
    expect((await connect(`LOCALHOST:${port}`)).status).to.equal(200);
  });

  it("refuses everything else, whatever it is called, and connects to nothing", async () => {
    const elsewhere = (other.address() as AddressInfo).port;
    const targets = [
      // Another port of the same host.
      `127.0.0.1:${elsewhere}`,
      `localhost:${elsewhere}`,
      // Internal and link-local addresses.
      `10.96.0.10:${port}`,
      `192.168.0.1:443`,
      `169.254.169.254:443`,
      `[fe80::1]:443`,
      `[::1]:${port}`,
      // The same address written otherwise.
      `2130706433:${port}`,
      `0x7f000001:${port}`,
      `0x7f.1:${port}`,
      `0177.0.0.1:${port}`,
      `127.1:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      // Names that contain a right one, or would resolve to one.
      `localhost.attacker.example:${port}`,
      `attacker.localhost:${port}`,
      `127.0.0.1.nip.io:${port}`,
      `kubernetes.default.svc.attacker.example:443`,
      `metadata.google.internal:443`,
    ];
    for (const target of targets) {
      const { status, body } = await connect(target);
      expect(status, target).to.equal(403);
      expect(body, target).to.contain("its own cluster only");
    }
    const malformed = [`localhost`, `user@localhost:${port}`, `localhost%00:${port}`, `localhost:0`, `localhost:99999`];
    for (const target of malformed) expect((await connect(target)).status, target).to.equal(400);
    expect(visits).to.equal(0);
  });

  it("knows no other method", async () => {
    const request = http.get({ port: proxyPort, host: "127.0.0.1", path: `http://127.0.0.1:${port}/version` });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    response.resume();
    expect(response.statusCode).to.equal(405);
    expect(response.headers.allow).to.equal("CONNECT");
  });

  it("says that the API server is away, and a client says by which way it tried", async () => {
    const lost = new ConnectProxy({ apiServer: { host: "127.0.0.1", port: 1 } }, logger);
    const lostPort = await lost.listen(0);
    const client = viaProxy(`http://name:secret@127.0.0.1:${lostPort}`);
    const failure = await client.text("/version").then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
    expect(failure).to.contain(`through the proxy 127.0.0.1:${lostPort}`);
    expect(failure).to.not.contain("secret");
    client.close();
    await lost.stop();
  });
});
