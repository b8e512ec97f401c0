import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { parse, stringify } from "yaml";
import { KubeClient } from "../../../agent/runtime/index.js";
import type { ApiServer } from "./api-server.js";

/** A request that changes something. */
export interface Write {
  /** Who asks: the common name of its certificate. */
  user: string;
  /** The method and what it is about; the same for each try, whatever name the server generates. */
  what: string;
}

/** Where a write is when it is seen: nothing is done yet, or it is done and nobody has been told. */
export type WritePhase = "asked" | "done";

/** Stands before an API server, and can cut a write off. Clients come with certificates of the server's own authority. */
export interface WriteProxy {
  url: string;
  stop(): Promise<void>;
}

const WRITES = ["POST", "PUT", "PATCH", "DELETE"];
/** What is written for its own sake: who leads, what people may want to know, and questions. */
const ASIDE = /\/(leases|events|subjectaccessreviews|tokenreviews)(\/|\?|$)/;

/**
 * @param cuts whether to cut the write off at this point: the connection breaks, and no answer is given
 * @param fails the status code to answer a request of any kind with, instead of passing it on
 */
export async function startWriteProxy(
  server: ApiServer,
  cuts: (write: Write, phase: WritePhase) => boolean,
  fails: (method: string, url: string) => number | undefined = () => undefined,
): Promise<WriteProxy> {
  const serving = await server.authority.issue("CN=proxy", { ip: ["127.0.0.1"] });
  const { tls } = await KubeClient.fromText(server.kubeconfig).transport.credentials();
  const agent = new https.Agent({ keepAlive: true, ...tls });
  const proxy = https.createServer({
    cert: serving.certificate,
    key: serving.key,
    ca: server.authority.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  });
  proxy.on("request", (request: http.IncomingMessage, response: http.ServerResponse) => {
    const cut = (): void => void request.socket.destroy();
    void (async () => {
      const { CN, O } = (request.socket as TLSSocket).getPeerCertificate().subject as { CN: string; O?: string };
      const body = await read(request);
      const failure = fails(request.method ?? "", request.url ?? "");
      if (failure) return void response.writeHead(failure).end("a fault of the test");
      const write = writeOf(request, CN, body);
      if (write && cuts(write, "asked")) return cut();
      const headers = { ...request.headers, "impersonate-user": CN, ...(O ? { "impersonate-group": O } : {}) };
      const target = new URL(request.url ?? "/", server.url);
      const upstream = https.request(target, { agent, method: request.method, headers }, (answer) => {
        if (write && cuts(write, "done")) return cut();
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      upstream.on("error", cut);
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    })().catch(cut);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = once(proxy, "close");
      proxy.close();
      proxy.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

/** A write proxy with a kubeconfig that leads through it. */
export interface SeenWrites extends WriteProxy {
  /** The file's name. */
  kubeconfig: string;
}

/** Stands before an API server for those who use the kubeconfig at this place. */
export async function seeWrites(
  server: ApiServer,
  kubeconfig: string,
  observer: { happens(write: Write, phase: WritePhase): boolean },
): Promise<SeenWrites> {
  const proxy = await startWriteProxy(server, (write, phase) => observer.happens(write, phase));
  const config = parse(server.kubeconfig) as { clusters: { cluster: { server: string } }[] };
  for (const { cluster } of config.clusters) cluster.server = proxy.url;
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  return { ...proxy, kubeconfig };
}

async function read(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function writeOf({ method = "", url = "" }: http.IncomingMessage, user: string, body: Buffer): Write | undefined {
  if (!WRITES.includes(method) || ASIDE.test(url)) return undefined;
  const [path = ""] = url.split("?");
  const generated = path.replace(/(\/liqo-identity-)[a-z0-9]+/, "$1…");
  return { user, what: [method, generated, ...(method === "POST" ? [nameIn(body)] : [])].join(" ").trim() };
}

function nameIn(body: Buffer): string {
  const { metadata } = JSON.parse(body.toString("utf8")) as { metadata?: { name?: string } };
  return metadata?.name ?? "";
}
