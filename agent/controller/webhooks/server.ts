import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { messageOf, type Logger } from "../../runtime/index.js";
import { deny, reviewOf, type AdmissionAnswer, type AdmissionHandler, type AdmissionRequest } from "./admission.js";

/** No object that the API server stores is larger (etcd's limit is 1.5 MiB, and a review holds the old one too). */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

export interface ServingCertificate {
  /** PEM. */
  certificate: string;
  key: string;
}

/** Answers admission reviews over HTTPS, each path by its handler. */
export class WebhookServer {
  private readonly server: https.Server;
  /** All of them: the server itself loses sight of one whose handshake has not ended. */
  private readonly connections = new Set<Socket>();
  private certified = false;

  constructor(
    private readonly handlers: ReadonlyMap<string, AdmissionHandler>,
    private readonly logger: Logger,
  ) {
    this.server = https.createServer({ minVersion: "TLSv1.2" }, (request, response) => {
      this.answer(request.url ?? "", request).then(
        ({ code, body }) => response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body)),
        (error: unknown) => response.writeHead(400).end(messageOf(error)),
      );
    });
    // The API server keeps its connections: closing them under it would fail a request now and then.
    this.server.keepAliveTimeout = 180_000;
    this.server.on("connection", (socket: Socket) => {
      this.connections.add(socket);
      socket.once("close", () => this.connections.delete(socket));
    });
  }

  /** Whether clients can connect: there is a certificate. */
  get isReady(): boolean {
    return this.certified;
  }

  /** Serves with a certificate from now on; open connections are kept. */
  use({ certificate, key }: ServingCertificate): void {
    this.server.setSecureContext({ cert: certificate, key, minVersion: "TLSv1.2" });
    this.certified = true;
  }

  /** Resolves with the port. */
  listen(port: number, host?: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, host, () => resolve((this.server.address() as AddressInfo).port));
    });
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      for (const socket of this.connections) socket.destroy();
    });
  }

  private async answer(url: string, body: AsyncIterable<Buffer>): Promise<{ code: number; body: object }> {
    const handler = this.handlers.get(url.split("?")[0] ?? "");
    if (!handler) return { code: 404, body: { message: "no such webhook" } };
    const review = JSON.parse(await readBody(body)) as { request?: AdmissionRequest };
    const { request } = review;
    if (!request?.uid) return { code: 400, body: { message: "not an AdmissionReview" } };
    return { code: 200, body: reviewOf(request.uid, await this.decide(url, handler, request)) };
  }

  private async decide(url: string, handler: AdmissionHandler, request: AdmissionRequest): Promise<AdmissionAnswer> {
    try {
      const answer = await handler(request);
      if (!answer.allowed) {
        const { namespace, name } = request;
        this.logger.info({ webhook: url, namespace, name, reason: answer.message }, "request refused");
      }
      return answer;
    } catch (error) {
      this.logger.warn({ webhook: url, reason: messageOf(error) }, "webhook failed");
      return deny(`cannot decide now: ${messageOf(error)}`, 500);
    }
  }
}

async function readBody(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error("the review is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
