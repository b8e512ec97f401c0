import http2 from "node:http2";
import type { Credentials, KubeTransport } from "../../runtime/kube-transport.js";
import { isSecureSocketPossible, openSecureSocket } from "./secure-socket.js";

/** Between two pings, in milliseconds, and the time for an answer. */
const PING_MS = 1_250;

/**
 * A connection that is kept to a peer's API server, and says within three seconds that nothing comes back any more: by HTTP/2 PING frames, which
 * the server answers below its API, so that no request is counted, logged or queued there. Ends by itself when it breaks or falls silent.
 */
export class PeerLine {
  private readonly timer: NodeJS.Timeout;
  private isAwaiting = false;
  private tickAt = Date.now();
  private isSilent = false;
  private onEnd?: (wasSilent: boolean) => void;

  private constructor(
    private readonly session: http2.ClientHttp2Session,
    private readonly transport: KubeTransport,
  ) {
    this.timer = setInterval(() => this.tick(), PING_MS);
    session.on("error", () => session.destroy());
    // The server wants it to end (it is shutting down, or spreads its load): what comes next shows on a new one.
    session.on("goaway", () => session.close());
    session.once("close", () => this.ended());
  }

  /**
   * Undefined where there can be none: what stands before the API server speaks no HTTP/2, or is a proxy of another kind than HTTP CONNECT.
   * Throws KubeError with code 0 when the API server cannot be reached within `timeoutMs`.
   */
  static async open(transport: KubeTransport, timeoutMs: number, signal: AbortSignal): Promise<PeerLine | undefined> {
    const session = await transport.connect(openSession, timeoutMs, signal);
    return session && new PeerLine(session, transport);
  }

  get isOpen(): boolean {
    return !this.session.closed && !this.session.destroyed;
  }

  /** Calls back once, when the line has ended, and tells whether that was for silence; not after `close`. */
  whenEnded(callback: (wasSilent: boolean) => void): void {
    this.onEnd = callback;
  }

  /** The status of the answer to a GET. Throws KubeError with code 0 when none comes within `timeoutMs`. */
  async get(path: string, timeoutMs: number): Promise<number> {
    const credentials = await this.transport.credentials();
    const headers = authorization(credentials);
    return new Promise((resolve, reject) => {
      const stream = this.session.request({ ":path": path, "user-agent": "pulumi-liqo", ...headers });
      const silence = this.transport.timedOut(credentials.server, timeoutMs);
      const timer = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), timeoutMs);
      stream.once("response", (response) => {
        resolve(Number(response[":status"]));
        stream.resume();
      });
      stream.once("error", reject);
      stream.once("close", () => {
        clearTimeout(timer);
        reject(silence);
      });
    });
  }

  close(): void {
    this.onEnd = undefined;
    this.session.destroy();
  }

  private tick(): void {
    // Its end is told a moment later.
    if (this.session.destroyed) return;
    const lateMs = Date.now() - this.tickAt - PING_MS;
    this.tickAt = Date.now();
    // It was this process that stood still: what has arrived meanwhile is not read yet.
    if (lateMs > PING_MS / 2) return;
    this.isSilent = this.isAwaiting;
    if (this.isSilent) return this.session.destroy();
    this.isAwaiting = this.session.ping((error) => {
      if (!error) this.isAwaiting = false;
    });
  }

  private ended(): void {
    clearInterval(this.timer);
    this.onEnd?.(this.isSilent);
  }
}

async function openSession(
  credentials: Credentials,
  signal: AbortSignal,
): Promise<http2.ClientHttp2Session | undefined> {
  if (!isSecureSocketPossible(credentials)) return undefined;
  const socket = await openSecureSocket(credentials, ["h2", "http/1.1"], signal);
  if (socket.alpnProtocol !== "h2") {
    socket.destroy();
    return undefined;
  }
  return http2.connect(credentials.server.origin, { createConnection: () => socket });
}

function authorization({ headers, auth }: Credentials): Record<string, string> {
  return { ...headers, ...(auth ? { authorization: `Basic ${Buffer.from(auth).toString("base64")}` } : {}) };
}
