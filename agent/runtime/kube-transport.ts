import http from "node:http";
import https from "node:https";
import { createSecureContext } from "node:tls";
import { KubeError, messageOf } from "./kube-error.js";
import type { ApiAccess } from "./service-account.js";

/** One HTTP exchange with an API server. */
export interface KubeRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute path, with its query. */
  path: string;
  contentType?: string;
  body?: string;
  accept?: string;
  signal?: AbortSignal;
  /** Milliseconds without any byte before the request fails; 0 = none (watches, log streams). */
  timeoutMs: number;
  headers?: Record<string, string>;
  /** Of a write: it says again what is known, for others to see that the writer lives. */
  isHeartbeat?: boolean;
}

/** Where an API server is and how to prove who we are, resolved from a kubeconfig. */
export interface Credentials {
  server: URL;
  /** What leads there, if not the network itself. */
  proxy?: URL;
  agent: http.Agent | https.Agent;
  headers: Record<string, string>;
  auth?: string;
  tls: {
    ca?: Buffer | string;
    cert?: Buffer | string;
    key?: Buffer | string;
    rejectUnauthorized?: boolean;
    servername?: string;
  };
}

const CREDENTIALS_MAX_AGE_MS = 30_000;

/**
 * Sends requests over kept-alive connections with the credentials of a kubeconfig's current context, or of the pod's ServiceAccount.
 * Every authentication method of the kubeconfig works (certificates, tokens, token files, exec plugins, proxies), because
 * the client library resolves it; tokens and exec credentials are looked at again every 30 seconds.
 */
export class KubeTransport {
  /** Told of each request that has changed something: who keeps a log sets it. */
  onWritten?: (request: KubeRequest) => void;
  private cached?: { credentials: Credentials; at: number };
  private pending?: Promise<Credentials>;

  constructor(
    private readonly access: ApiAccess,
    /** The cluster's name in messages. */
    readonly cluster: string,
  ) {}

  /** The API server's URL, as the kubeconfig writes it. */
  get server(): string {
    return this.access.getCurrentCluster()?.server ?? "";
  }

  /** Resolves with the response as soon as its headers are there; the caller reads the body. Throws KubeError with code 0 if none comes. */
  async send(request: KubeRequest): Promise<http.IncomingMessage> {
    const response = await this.sendFresh(request);
    if (request.method !== "GET" && (response.statusCode ?? 0) < 300) this.onWritten?.(request);
    return response;
  }

  private async sendFresh(request: KubeRequest): Promise<http.IncomingMessage> {
    const credentials = await this.credentials();
    try {
      return await this.exchange(request, credentials);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
    }
    // The server had closed an idle connection just as we reused it: nothing was processed, a fresh connection decides. A server that has ended
    // has closed all of them.
    dropIdle(credentials.agent);
    try {
      return await this.exchange(request, credentials);
    } catch (error) {
      throw error instanceof StaleConnectionError ? error.outcome : error;
    }
  }

  private exchange(request: KubeRequest, credentials: Credentials): Promise<http.IncomingMessage> {
    const { server } = credentials;
    return new Promise((resolve, reject) => {
      const outgoing = (server.protocol === "http:" ? http : https).request({
        protocol: server.protocol,
        hostname: server.hostname.replace(/^\[|\]$/g, ""),
        port: server.port || (server.protocol === "http:" ? 80 : 443),
        path: server.pathname.replace(/\/$/, "") + request.path,
        method: request.method,
        agent: credentials.agent,
        auth: credentials.auth,
        headers: headersOf(request, credentials),
        // An agent of our own knows them already.
        ...(credentials.agent instanceof https.Agent ? {} : credentials.tls),
      });
      // A timer of our own: a request's own time-out does not run while the connection is being made.
      const timer =
        request.timeoutMs > 0
          ? setTimeout(() => {
              outgoing.destroy(this.timedOut(server, request.timeoutMs));
              // What lies idle may be as dead: a tunnel that fell took all its connections with it.
              dropIdle(credentials.agent);
            }, request.timeoutMs)
          : undefined;
      endWith(request.signal, outgoing);
      outgoing.on("response", (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        const stale = outgoing.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
        const outcome = this.unreachable(error, server, request.signal);
        reject(stale ? new StaleConnectionError(outcome) : outcome);
      });
      outgoing.end(request.body);
    });
  }

  /** Credentials for raw connections, such as upgraded streams. */
  async credentials(): Promise<Credentials> {
    const now = Date.now();
    if (this.cached && (this.isStatic() || now - this.cached.at < CREDENTIALS_MAX_AGE_MS))
      return this.cached.credentials;
    this.pending ??= this.resolve().finally(() => (this.pending = undefined));
    return this.pending;
  }

  /**
   * Makes a connection of the caller's own kind with these credentials. Throws KubeError with code 0 as `send` does, also when it takes longer
   * than `timeoutMs`: `open` must then let go of what it holds, as its signal says.
   */
  async connect<T>(
    open: (credentials: Credentials, signal: AbortSignal) => Promise<T>,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<T> {
    const credentials = await this.credentials();
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      return await open(credentials, signal ? AbortSignal.any([signal, deadline]) : deadline);
    } catch (error) {
      if (deadline.aborted && !signal?.aborted) throw this.timedOut(credentials.server, timeoutMs);
      throw this.unreachable(error as NodeJS.ErrnoException, credentials.server, signal);
    }
  }

  close(): void {
    this.cached?.credentials.agent.destroy();
    this.cached = undefined;
  }

  private isStatic(): boolean {
    const user = this.access.getCurrentUser();
    return !user?.exec && !user?.authProvider;
  }

  private async resolve(): Promise<Credentials> {
    const cluster = this.access.getCurrentCluster();
    if (!cluster?.server) {
      throw new KubeError(
        `cluster ${this.cluster}: the kubeconfig's context names no cluster with a server`,
        0,
        "BadConfig",
        this.cluster,
      );
    }
    const options: https.RequestOptions = {};
    await this.access.applyToHTTPSOptions(options);
    const tls = {
      ca: options.ca as Buffer | string | undefined,
      cert: options.cert as Buffer | string | undefined,
      key: options.key as Buffer | string | undefined,
      rejectUnauthorized: options.rejectUnauthorized,
      servername: options.servername,
    };
    const previous = this.cached?.credentials;
    const reusable = previous !== undefined && sameTls(previous.tls, tls);
    const server = new URL(cluster.server);
    const credentials: Credentials = {
      server,
      ...(cluster.proxyUrl && URL.canParse(cluster.proxyUrl) ? { proxy: new URL(cluster.proxyUrl) } : {}),
      agent: reusable ? previous.agent : makeAgent(server, tls, cluster.proxyUrl ? options.agent : undefined),
      headers: plainHeaders(options.headers),
      auth: options.auth ?? undefined,
      tls,
    };
    this.cached = { credentials, at: Date.now() };
    return credentials;
  }

  /** Where requests go and by which way, as one text: behind proxies, two clusters may have the same address. May hold a proxy's password. */
  get route(): string {
    const { server, proxyUrl, tlsServerName } = this.access.getCurrentCluster() ?? {};
    return JSON.stringify([server, proxyUrl, tlsServerName]);
  }

  /** The server, and the proxy that leads there; never a proxy's password. */
  private place(server: URL): string {
    const proxy = this.access.getCurrentCluster()?.proxyUrl;
    return proxy && URL.canParse(proxy) ? `${server.origin} through the proxy ${new URL(proxy).host}` : server.origin;
  }

  /** That no answer has come for so long, by whatever kind of connection it was asked for. */
  timedOut(server: URL, timeoutMs: number): KubeError {
    return new KubeError(
      `the API server of cluster ${this.cluster} at ${this.place(server)} did not answer within ${timeoutMs / 1000} s`,
      0,
      "Timeout",
      this.cluster,
    );
  }

  private unreachable(error: NodeJS.ErrnoException, server: URL, signal?: AbortSignal): Error {
    if (error instanceof KubeError) return error;
    if (signal?.aborted) return new KubeError("the request was cancelled", 0, "Cancelled", this.cluster);
    return new KubeError(
      `cannot reach the API server of cluster ${this.cluster} at ${this.place(server)}: ${error.code ?? messageOf(error)}`,
      0,
      "Unreachable",
      this.cluster,
      undefined,
      { cause: error },
    );
  }
}

/** As the request's own option would, which watches the whole stream for it. */
function endWith(signal: AbortSignal | undefined, outgoing: http.ClientRequest): void {
  if (!signal) return;
  const end = (): void => void outgoing.destroy(new Error("aborted"));
  if (signal.aborted) return end();
  signal.addEventListener("abort", end, { once: true });
  outgoing.on("close", () => signal.removeEventListener("abort", end));
}

class StaleConnectionError extends Error {
  /** What callers are told if a second try is no better. */
  constructor(readonly outcome: Error) {
    super(outcome.message);
  }
}

function dropIdle(agent: http.Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function headersOf(request: KubeRequest, credentials: Credentials): Record<string, string> {
  const body: Record<string, string> =
    request.body === undefined
      ? {}
      : {
          "content-type": request.contentType ?? "application/json",
          "content-length": String(Buffer.byteLength(request.body)),
        };
  return {
    accept: request.accept ?? "application/json",
    "user-agent": "pulumi-liqo",
    ...body,
    ...credentials.headers,
    ...request.headers,
  };
}

function makeAgent(
  server: URL,
  tls: Credentials["tls"],
  proxyAgent: https.RequestOptions["agent"],
): http.Agent | https.Agent {
  if (proxyAgent instanceof http.Agent) {
    Object.assign(proxyAgent, { keepAlive: true });
    return proxyAgent;
  }
  const keep = { keepAlive: true, keepAliveMsecs: 15_000, maxFreeSockets: 16, scheduling: "lifo" as const };
  if (server.protocol === "http:") return new http.Agent(keep);
  const { ca, cert, key, ...verification } = tls;
  // Certificates and keys are read once, not for each connection.
  return new https.Agent({ ...keep, ...verification, secureContext: createSecureContext({ ca, cert, key }) });
}

function sameTls(a: Credentials["tls"], b: Credentials["tls"]): boolean {
  const text = (value: Buffer | string | undefined): string => value?.toString() ?? "";
  return text(a.ca) === text(b.ca) && text(a.cert) === text(b.cert) && text(a.key) === text(b.key);
}

function plainHeaders(headers: https.RequestOptions["headers"]): Record<string, string> {
  const result: Record<string, string> = {};
  if (!headers || Array.isArray(headers)) return result;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(", ") : String(value);
  }
  return result;
}
