import http from "node:http";
import net, { type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { joinStreams } from "../runtime/join-streams.js";
import { messageOf } from "../runtime/kube-error.js";
import type { Logger } from "../runtime/logger.js";
import { ApiServerNames } from "./api-server-names.js";
import type { ProxyArguments } from "./arguments.js";
import { formatAuthority, parseAuthority, type Authority } from "./authority.js";

const DIAL_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 1_000;
/** Where API servers usually listen; another one must be configured. */
const USUAL_PORTS = [443, 6443];

/** Why a request is not served. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * An HTTP proxy that leads to one place: this cluster's API server (network specification, §12). It knows CONNECT only, and copies bytes without looking at
 * them: TLS and credentials are the consumer's and the API server's business. What a request names is never resolved nor dialled; one that
 * does not name the API server is refused.
 */
export class ConnectProxy {
  private readonly server: http.Server;
  private readonly names: ApiServerNames;
  private readonly sockets = new Set<Duplex>();
  private readonly counts = { connected: 0, refused: 0, failed: 0 };

  constructor(
    private readonly options: Pick<ProxyArguments, "apiServer" | "publicAddress">,
    private readonly logger: Logger,
  ) {
    this.names = new ApiServerNames(options.apiServer);
    this.server = http.createServer((_request, response) => {
      response.writeHead(405, { allow: "CONNECT", "content-type": "text/plain", connection: "close" });
      response.end("this proxy knows CONNECT only\n");
    });
    this.server.headersTimeout = HEADERS_TIMEOUT_MS;
    this.server.requestTimeout = HEADERS_TIMEOUT_MS;
    this.server.maxConnections = MAX_CONNECTIONS;
    this.server.on("connect", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.handle(request.url ?? "", socket, head);
    });
    this.server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Connections that are open now, and the outcomes of all requests since the start. */
  get figures(): { open: number; connected: number; refused: number; failed: number } {
    // Of each connection there are two ends.
    return { ...this.counts, open: Math.floor(this.sockets.size / 2) };
  }

  /** Resolves with the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, () => {
        this.server.off("error", reject);
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async handle(target: string, socket: Duplex, head: Buffer): Promise<void> {
    this.track(socket);
    try {
      await this.check(target);
      const upstream = await this.dial();
      this.track(upstream);
      if (socket.destroyed) return void upstream.destroy();
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      joinStreams(socket, upstream);
      this.counts.connected += 1;
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 502;
      this.counts[error instanceof Refusal ? "refused" : "failed"] += 1;
      this.logger.warn({ target: target.slice(0, 100), status, reason: messageOf(error) }, "not connected");
      answer(socket, status, messageOf(error));
    }
  }

  private track(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.sockets.delete(socket));
  }

  /** Whether the request names the API server; throws a Refusal otherwise. */
  private async check(target: string): Promise<void> {
    const { apiServer, publicAddress } = this.options;
    const wanted = parseAuthority(target);
    if (!wanted) throw new Refusal(400, "the request names no host and port");
    if (isSame(wanted, apiServer) || isSame(wanted, publicAddress)) return;
    const ports = [...new Set([...USUAL_PORTS, apiServer.port, ...(publicAddress ? [publicAddress.port] : [])])];
    if (!ports.includes(wanted.port)) {
      throw new Refusal(403, `${REACH}, on the ports ${ports.join(", ")} or as its address is configured in the agent`);
    }
    if (!(await this.names.include(wanted.host))) {
      throw new Refusal(403, `${REACH}, by the names and addresses of its certificate`);
    }
  }

  private dial(): Promise<net.Socket> {
    const { host, port } = this.options.apiServer;
    return new Promise((resolve, reject) => {
      const upstream = net.connect({ host, port, allowHalfOpen: true });
      const fail = (why: string): void => {
        upstream.destroy();
        reject(new Error(`the API server at ${formatAuthority(this.options.apiServer)} cannot be reached: ${why}`));
      };
      const timer = setTimeout(() => fail(`no answer within ${DIAL_TIMEOUT_MS / 1000} s`), DIAL_TIMEOUT_MS);
      upstream.once("error", (error) => {
        clearTimeout(timer);
        fail(messageOf(error));
      });
      upstream.once("connect", () => {
        clearTimeout(timer);
        resolve(upstream);
      });
    });
  }
}

const REACH = "this proxy leads to the API server of its own cluster only";

function isSame(a: Authority, b: Authority | undefined): boolean {
  return a.host === b?.host && a.port === b.port;
}

function answer(socket: Duplex, status: number, message: string): void {
  if (!socket.writable) return;
  const body = `${message}\n`;
  const headers = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? "Error"}\r\n${headers}\r\n\r\n${body}`);
}
