import { expect } from "chai";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Credentials, KubeTransport } from "../../../agent/runtime/index.js";
import type { VirtualNodeContext } from "../../../agent/virtual-node/context.js";
import { relayLogs } from "../../../agent/virtual-node/kubelet-api/container-logs.js";
import { unlessProviderFalls } from "../../../agent/virtual-node/kubelet-api/unless-provider-falls.js";
import { relayUpgrade } from "../../../agent/virtual-node/kubelet-api/upgrade-relay.js";

const LOOK_MS = 20;
const SILENT = /the API server of cluster provider, where the pod runs, does not answer/;

/** A provider whose ForeignCluster says in turn what these are, and the last for ever. */
function withProvider(...answers: ("Established" | "NotEstablished")[]): VirtualNodeContext {
  const state = {
    get foreignCluster() {
      const status = answers.length > 1 ? answers.shift() : answers[0];
      return { status: { conditions: [{ type: "APIServerStatus", status }] } };
    },
  };
  return { state, config: { foreignClusterId: "provider" } } as unknown as VirtualNodeContext;
}

describe("waiting for an answer of the provider", () => {
  const servers: http.Server[] = [];
  const listen = async (server: http.Server): Promise<number> => {
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const failure = async (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error("no failure"),
      (error: Error) => error,
    );
  /** Takes connections and requests, and never says a word. */
  const silent = async (): Promise<Credentials> => {
    const server = new URL(
      `http://127.0.0.1:${await listen(http.createServer(() => undefined).on("upgrade", () => undefined))}`,
    );
    return { server, agent: new http.Agent(), headers: {}, tls: {} };
  };

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  it("goes on as long as the provider lives, and gives what comes", async () => {
    const context = withProvider("Established");
    let looks = 0;
    const alive = Object.create(context, { state: { get: () => (looks++, context.state) } }) as VirtualNodeContext;
    const answer = unlessProviderFalls(
      alive,
      (fallen) =>
        new Promise((resolve, reject) => {
          fallen.addEventListener("abort", () => reject(new Error("fallen")));
          const timer = setInterval(() => {
            if (looks < 3) return;
            clearInterval(timer);
            resolve("answer");
          }, 1);
        }),
      LOOK_MS,
    );
    expect(await answer).to.equal("answer");
  });

  it("passes on what fails by itself", async () => {
    const failing = unlessProviderFalls(
      withProvider("Established"),
      () => Promise.reject(new Error("refused")),
      LOOK_MS,
    );
    expect((await failure(failing)).message).to.equal("refused");
  });

  it("ends for logs when the provider does not live any more", async () => {
    const { server } = await silent();
    const send = async ({ path, signal }: { path: string; signal: AbortSignal }) => {
      const request = http.get(new URL(path, server), { signal });
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      return response;
    };
    const response = new http.ServerResponse(new http.IncomingMessage(undefined as never));
    const logs = unlessProviderFalls(
      withProvider("Established", "NotEstablished"),
      (fallen) => relayLogs(response, { send } as unknown as KubeTransport, "/log", fallen),
      LOOK_MS,
    );
    expect((await failure(logs)).message).to.match(SILENT);
  });

  it("ends for streams when the provider does not live any more, and says so to the client", async () => {
    const credentials = await silent();
    const node = http.createServer().on("upgrade", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      const incoming = { request, socket, head };
      const context = withProvider("Established", "NotEstablished");
      void unlessProviderFalls(context, (fallen) => relayUpgrade(incoming, credentials, "/exec", fallen), LOOK_MS);
    });
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const request = http.get({ port: await listen(node), host: "127.0.0.1", path: "/exec", headers });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    expect(response.statusCode).to.equal(502);
    const body = (await response.setEncoding("utf8").toArray()).join("");
    expect(body).to.match(SILENT);
  });
});
