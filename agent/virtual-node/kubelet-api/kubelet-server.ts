import { constants } from "node:crypto";
import type http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { DEFAULT_CIPHERS, type SecureContextOptions } from "node:tls";
import type { Pod } from "kubernetes-types/core/v1";
import { messageOf } from "../../runtime/index.js";
import type { VirtualNodeContext } from "../context.js";
import type { NamespaceManager } from "../namespaces/namespace-manager.js";
import type { PodController } from "../pods/pod-controller.js";
import { Authenticator } from "./authentication.js";
import { Authorizer } from "./authorization.js";
import { ClientAuthority } from "./client-authority.js";
import { logParameterProblem, relayLogs } from "./container-logs.js";
import {
  isUpgradeRoute,
  parseKubeletPath,
  remotePath,
  subresourcesOf,
  verbOf,
  type KubeletRoute,
} from "./kubelet-route.js";
import { RecentUsages } from "./recent-usages.js";
import { collectUsages } from "./remote-metrics.js";
import { resourceMetrics, statsSummary } from "./stats.js";
import { unlessProviderFalls } from "./unless-provider-falls.js";
import { refuse, relayUpgrade } from "./upgrade-relay.js";

/** A certificate and its private key, both PEM. */
export interface ServingCertificate {
  certificate: string;
  key: string;
}

/** Longer than API servers keep idle connections to kubelets, so that none is closed as it is reused. */
const KEEP_ALIVE_MS = 120_000;

/** Much passes through here: of the ciphers of TLS 1.3, which are all good, the cheapest comes first, as with Kubernetes' own servers. */
const FIRST_CIPHER = "TLS_AES_128_GCM_SHA256";
const CIPHERS = [FIRST_CIPHER, ...DEFAULT_CIPHERS.split(":").filter((cipher) => cipher !== FIRST_CIPHER)].join(":");

/** An answer that is no success. */
class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The kubelet API of the virtual node (offloading specification, §7): who asks is authenticated and authorized as by any
 * kubelet; what is asked about a pod is asked of the provider's API server in the name of the consumer.
 */
export class KubeletServer {
  readonly name = "kubelet-api";
  private readonly server: https.Server;
  private readonly authority: ClientAuthority;
  private readonly authenticator: Authenticator;
  private readonly authorizer: Authorizer;
  private readonly usages: RecentUsages;
  private readonly streams = new Set<Duplex>();

  constructor(
    private readonly context: VirtualNodeContext,
    private readonly namespaces: NamespaceManager,
    private readonly pods: PodController,
    private certificate: ServingCertificate,
  ) {
    const { local, config, logger } = context;
    this.usages = new RecentUsages(() => collectUsages(context, namespaces, pods));
    this.authenticator = new Authenticator(local);
    this.authorizer = new Authorizer(local, config.nodeName);
    this.authority = new ClientAuthority(local, logger, () => this.server.setSecureContext(this.secureContext()));
    this.server = https.createServer(
      { ...this.secureContext(), requestCert: true, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] },
      (request, response) => void this.handle(request, response),
    );
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.server.on("upgrade", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.handleUpgrade(request, socket, head);
    });
    this.server.on("tlsClientError", () => undefined);
  }

  async start(): Promise<void> {
    this.authority.start();
    const { kubeletPort } = this.context.config;
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(kubeletPort, () => {
        this.server.off("error", reject);
        resolve();
      });
    });
  }

  /** The port listened on. */
  get port(): number {
    const address = this.server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  async stop(): Promise<void> {
    await this.authority.stop();
    for (const stream of this.streams) stream.destroy();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  /** Serves with another certificate from the next connection on. */
  useCertificate(certificate: ServingCertificate): void {
    this.certificate = certificate;
    this.server.setSecureContext(this.secureContext());
  }

  private secureContext(): SecureContextOptions {
    return {
      cert: this.certificate.certificate,
      key: this.certificate.key,
      ca: this.authority?.pem ?? [],
      minVersion: "TLSv1.2",
      ciphers: CIPHERS,
      // A resumed session would carry no client certificate.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
  }

  private async handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? "/", "https://kubelet");
      const route = parseKubeletPath(url.pathname);
      await this.authorize(request, url, route);
      if (!route) throw new HttpError(404, `nothing is served at ${url.pathname}`);
      if (isUpgradeRoute(route)) throw new HttpError(400, `${route.kind} needs a connection that can be upgraded`);
      if (request.method !== "GET") throw new HttpError(405, `${request.method} is not supported here`);
      await this.answer(route, url.searchParams, response);
    } catch (error) {
      const status = error instanceof HttpError ? error.status : 502;
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { "content-type": "text/plain" }).end(`${messageOf(error)}\n`);
    }
  }

  private async handleUpgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.streams.add(socket);
    socket.once("close", () => this.streams.delete(socket));
    socket.on("error", () => socket.destroy());
    try {
      const url = new URL(request.url ?? "/", "https://kubelet");
      const route = parseKubeletPath(url.pathname);
      await this.authorize(request, url, route);
      if (!route || !isUpgradeRoute(route)) throw new HttpError(404, `no stream is served at ${url.pathname}`);
      const remoteNamespace = this.remoteNamespaceOf(route);
      const path = remotePath(route, remoteNamespace, url.searchParams);
      const credentials = await this.context.remote.transport.credentials();
      const incoming = { request, socket, head };
      await unlessProviderFalls(this.context, (fallen) => relayUpgrade(incoming, credentials, path, fallen));
    } catch (error) {
      refuse(socket, error instanceof HttpError ? error.status : 502, messageOf(error));
    }
  }

  private async authorize(request: http.IncomingMessage, url: URL, route: KubeletRoute | undefined): Promise<void> {
    const user = await this.authenticator.authenticate(request);
    if (!user) throw new HttpError(401, "Unauthorized");
    const verb = verbOf(request.method ?? "GET", route);
    const subresources = subresourcesOf(url.pathname);
    if (await this.authorizer.isAllowed(user, verb, subresources)) return;
    const what = `nodes/${subresources.join(" or nodes/")}`;
    throw new HttpError(403, `user ${user.name} may not ${verb} ${what} of node ${this.context.config.nodeName}`);
  }

  private async answer(
    route: Exclude<KubeletRoute, { kind: "exec" | "attach" | "portForward" }>,
    query: URLSearchParams,
    response: http.ServerResponse,
  ): Promise<void> {
    const { config, remote } = this.context;
    switch (route.kind) {
      case "logs": {
        const remoteNamespace = this.remoteNamespaceOf(route);
        const problem = logParameterProblem(query);
        if (problem) throw new HttpError(422, problem);
        const path = remotePath(route, remoteNamespace, query);
        return unlessProviderFalls(this.context, (fallen) => relayLogs(response, remote.transport, path, fallen));
      }
      case "healthz":
        return text(response, "ok");
      case "pods":
        return json(response, podList(this.pods.pods.list()));
      case "runningPods":
        return json(response, podList(this.pods.pods.list().filter(({ status }) => status?.phase === "Running")));
      case "summary":
        return json(response, statsSummary(config.nodeName, await this.usages.get()));
      case "metrics":
        if (route.set !== "resource") return text(response, "");
        return text(response, resourceMetrics(await this.usages.get(), this.usages.counters));
    }
  }

  /** Where the pod runs; 404 unless it is on this node, offloaded, and has that container. */
  private remoteNamespaceOf(route: Extract<KubeletRoute, { pod: string }>): string {
    const pod = this.pods.pods.find(route.namespace, route.pod);
    const pair = this.namespaces.pairOf(route.namespace);
    if (!pod || !pair) throw new HttpError(404, `pod ${route.namespace}/${route.pod} does not run on this node`);
    if (route.kind !== "portForward" && !hasContainer(pod, route.container)) {
      throw new HttpError(404, `pod ${route.namespace}/${route.pod} has no container ${route.container}`);
    }
    return pair.remote;
  }
}

function hasContainer({ spec }: Pod, name: string): boolean {
  const containers = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  return containers.some((container) => container.name === name);
}

function podList(items: Pod[]): object {
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

function json(response: http.ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function text(response: http.ServerResponse, body: string): void {
  response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(body);
}
