import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { joinStreams, messageOf, type Credentials } from "../../runtime/index.js";

/** An upgrade request as Node's server hands it over. */
export interface UpgradeRequest {
  request: http.IncomingMessage;
  socket: Duplex;
  /** What had arrived already behind the request's headers. */
  head: Buffer;
}

/**
 * Opens the same upgrade on the provider's API server and, once that has agreed, copies bytes both ways without looking
 * at them: whatever protocol is spoken, with its resize messages, half closes and exit codes (offloading specification,
 * §7.6). Any other answer is passed on as it is. Resolves when the stream stands or has been refused; the signal ends the wait for that.
 */
export function relayUpgrade(
  incoming: UpgradeRequest,
  credentials: Credentials,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const { socket } = incoming;
  // Whatever happens before the streams are joined ends in an answer or a closed socket, never in an exception.
  socket.on("error", () => socket.destroy());
  return attempt(incoming, credentials, path, { mayRetry: true, signal });
}

function attempt(
  incoming: UpgradeRequest,
  credentials: Credentials,
  path: string,
  { mayRetry, signal }: { mayRetry: boolean; signal?: AbortSignal },
): Promise<void> {
  const { socket, request } = incoming;
  const { server } = credentials;
  return new Promise((resolve) => {
    const outgoing = (server.protocol === "http:" ? http : https).request({
      protocol: server.protocol,
      hostname: server.hostname.replace(/^\[|\]$/g, ""),
      port: server.port || (server.protocol === "http:" ? 80 : 443),
      path: server.pathname.replace(/\/$/, "") + path,
      method: request.method,
      agent: credentials.agent,
      auth: credentials.auth,
      headers: { ...upgradeHeaders(request), ...credentials.headers },
      ...credentials.tls,
    });
    const abandon = (): void => void outgoing.destroy();
    socket.once("close", abandon);
    const giveUp = (): void => void outgoing.destroy(signal?.reason as Error);
    signal?.addEventListener("abort", giveUp, { once: true });
    outgoing.on("upgrade", (response, upstream: Duplex, head) => {
      socket.off("close", abandon);
      signal?.removeEventListener("abort", giveUp);
      socket.write(headText(response, "Switching Protocols"));
      if (head.length > 0) socket.write(head);
      if (incoming.head.length > 0) upstream.write(incoming.head);
      joinStreams(socket, upstream);
      resolve();
    });
    outgoing.on("response", (response) => {
      relayRefusal(response, socket);
      resolve();
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      socket.off("close", abandon);
      // A kept connection that the server had just closed: nothing was processed, a fresh one decides.
      if (mayRetry && outgoing.reusedSocket && error.code === "ECONNRESET") {
        resolve(attempt(incoming, credentials, path, { mayRetry: false, signal }));
        return;
      }
      refuse(socket, 502, `the provider's API server cannot be reached: ${messageOf(error)}`);
      resolve();
    });
    outgoing.end();
  });
}

/** Answers an upgrade request with an error. */
export function refuse(socket: Duplex, status: number, message: string): void {
  if (!socket.writable) return;
  const body = `${message}\n`;
  const headers = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? "Error"}\r\n${headers}\r\n\r\n${body}`);
}

/** Only what belongs to the handshake: the caller's credentials and identity stay here. */
export function upgradeHeaders(request: http.IncomingMessage): http.OutgoingHttpHeaders {
  const headers: http.OutgoingHttpHeaders = { connection: "Upgrade", "user-agent": "pulumi-liqo" };
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    const handshake = name === "upgrade" || name === "x-stream-protocol-version" || name.startsWith("sec-websocket-");
    if (handshake && values) headers[name] = values.length === 1 ? values[0] : values;
  }
  return headers;
}

function relayRefusal(response: http.IncomingMessage, socket: Duplex): void {
  // The body's length is told by the connection's end, so that chunks need not be counted again.
  socket.write(headText(response, "", ["transfer-encoding", "connection", "keep-alive"], ["Connection", "close"]));
  // What breaks off in the middle must break off here, too, and end nothing else.
  response.on("error", () => socket.destroy());
  response.pipe(socket);
}

function headText(
  response: http.IncomingMessage,
  defaultReason: string,
  dropped: string[] = [],
  added: string[] = [],
): string {
  const { statusCode = 502, statusMessage, rawHeaders } = response;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage ?? defaultReason}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (!dropped.includes(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[i + 1]}`);
  }
  for (let i = 0; i + 1 < added.length; i += 2) lines.push(`${added[i]}: ${added[i + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
