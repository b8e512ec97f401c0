import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import type { Credentials } from "../../runtime/kube-transport.js";

/**
 * Opens a TLS connection to an API server, through the HTTP CONNECT proxy of its kubeconfig if there is one, and offers it the protocols named.
 * Throws what Node throws, and when the signal aborts.
 */
export async function openSecureSocket(
  { server, proxy, tls: options }: Credentials,
  protocols: string[],
  signal: AbortSignal,
): Promise<tls.TLSSocket> {
  signal.throwIfAborted();
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const port = Number(server.port || 443);
  const way = proxy ? { socket: await tunnel(proxy, `${server.hostname}:${port}`, signal) } : { host, port };
  const servername = options.servername ?? (net.isIP(host) ? undefined : host);
  const socket = tls.connect({ ...options, ...way, servername, ALPNProtocols: protocols });
  await settled(socket, "secureConnect", signal);
  return socket;
}

/** Whether `openSecureSocket` can go this way: proxies of other kinds (SOCKS) it does not know. */
export function isSecureSocketPossible({ server, proxy }: Credentials): boolean {
  return server.protocol === "https:" && (!proxy || proxy.protocol === "http:" || proxy.protocol === "https:");
}

function tunnel(proxy: URL, target: string, signal: AbortSignal): Promise<Duplex> {
  const { request } = proxy.protocol === "https:" ? https : http;
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const outgoing = request({
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: proxy.port || undefined,
    method: "CONNECT",
    path: target,
    headers: {
      host: target,
      ...(proxy.username ? { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` } : {}),
    },
    agent: false,
    signal,
  });
  return new Promise((resolve, reject) => {
    outgoing.once("connect", (response, socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`the proxy answered ${response.statusCode} ${response.statusMessage ?? ""}`.trim()));
    });
    outgoing.once("error", reject).end();
  });
}

/** Waits for the event; on an error, or when the signal aborts, the socket is destroyed. */
async function settled(socket: tls.TLSSocket, event: string, signal: AbortSignal): Promise<void> {
  const giveUp = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(event, () => resolve());
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("the connection was closed while it was being made")));
    });
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
