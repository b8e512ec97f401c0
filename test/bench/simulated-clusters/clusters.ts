import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { createAuthority } from "../../integration/support/certificates.js";
import { SimulatedAgent } from "./agent.js";
import { isSelected, ObjectStore, type Json } from "./store.js";

/** One of the clusters: what is in it, and what it was asked for. */
export interface SimulatedCluster {
  id: string;
  store: ObjectStore;
  agent: SimulatedAgent;
  kubeconfigPath: string;
  /** Requests by verb and kind, such as "GET networks". */
  requests: Map<string, number>;
}

/** An API path, taken apart. */
interface Target {
  collection: string;
  namespace?: string;
  name?: string;
  subresource?: string;
}

/**
 * API servers of many clusters with simulated agents, in this process: objects are kept in memory, whatever is asked of an agent is granted at once.
 * They speak enough of the protocol for the provider, over TLS, at one port: each cluster is a path. Nothing of Kubernetes' own logic is there.
 */
export class SimulatedClusters {
  private readonly clusters = new Map<string, SimulatedCluster>();
  private server?: Server;
  private url = "";
  private user = {};
  private authority = "";

  constructor(private readonly folder: string) {}

  async start(): Promise<void> {
    const authority = await createAuthority("simulated-ca");
    const serving = await authority.issue("CN=simulated", { ip: ["127.0.0.1"] });
    const admin = await authority.issue("CN=admin,O=system:masters");
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    this.user = { "client-certificate-data": base64(admin.certificate), "client-key-data": base64(admin.key) };
    this.authority = base64(authority.certificate);
    const options = { key: serving.key, cert: serving.certificate, ca: authority.certificate, requestCert: true };
    this.server = createServer(options, (request, response) => {
      this.answer(request, response).catch((error: unknown) => fail(response, 500, String(error)));
    });
    this.server.keepAliveTimeout = 60_000;
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.url = `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  /** Adds a cluster with its agent, and writes its kubeconfig. */
  async add(id: string, podCIDR: string): Promise<SimulatedCluster> {
    const store = new ObjectStore();
    const agent = new SimulatedAgent(id, store, (other) => this.clusters.get(other)?.store);
    const kubeconfigPath = path.join(this.folder, `${id}.kubeconfig`);
    await writeFile(kubeconfigPath, this.kubeconfig(id), { mode: 0o600 });
    agent.install(podCIDR);
    const cluster = { id, store, agent, kubeconfigPath, requests: new Map<string, number>() };
    this.clusters.set(id, cluster);
    return cluster;
  }

  /** All requests since the last call, and forgets them. */
  takeRequests(): Map<string, number> {
    const all = new Map<string, number>();
    for (const { requests } of this.clusters.values()) {
      for (const [kind, count] of requests) all.set(kind, (all.get(kind) ?? 0) + count);
      requests.clear();
    }
    return all;
  }

  private kubeconfig(id: string): string {
    const cluster = { server: `${this.url}/${id}`, "certificate-authority-data": this.authority };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: id, cluster }],
      users: [{ name: id, user: this.user }],
      contexts: [{ name: id, context: { cluster: id, user: id } }],
      "current-context": id,
    });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "https://simulated");
    const [, id = "", ...parts] = url.pathname.split("/").map(decodeURIComponent);
    const cluster = this.clusters.get(id);
    if (!cluster) return fail(response, 404, `there is no cluster ${id}`);
    const target = targetOf(parts);
    const watch = url.searchParams.get("watch") === "true";
    const kind = `${watch ? "WATCH" : (request.method ?? "")} ${target.collection.split("/").at(-1)}`;
    cluster.requests.set(kind, (cluster.requests.get(kind) ?? 0) + 1);
    const body = await bodyOf(request);
    if (watch) return stream(cluster.store, target, url.searchParams, response);
    const result = handle(cluster, request.method ?? "GET", target, url.searchParams, body);
    if (!result) return fail(response, 404, `${target.collection} ${target.name ?? ""}: not found`);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(result));
  }
}

function targetOf(parts: string[]): Target {
  const depth = parts[0] === "api" ? 2 : 3;
  const root = parts.slice(0, depth);
  const rest = parts.slice(depth);
  const isInNamespace = rest[0] === "namespaces" && rest.length > 2;
  const namespace = isInNamespace ? rest[1] : undefined;
  const [plural = "", name, subresource] = isInNamespace ? rest.slice(2) : rest;
  return { collection: [...root, plural].filter((part) => part !== "").join("/"), namespace, name, subresource };
}

function handle(
  { store, agent }: SimulatedCluster,
  method: string,
  { collection, namespace, name }: Target,
  query: URLSearchParams,
  body: Json | undefined,
): object | undefined {
  if (collection.endsWith("selfsubjectaccessreviews")) return { status: { allowed: true } };
  if (collection === "version") return { major: "1", minor: "34" };
  if (method === "GET" && name === undefined) {
    const items = store.list(collection, { namespace, ...selectorsOf(query) });
    return { metadata: { resourceVersion: store.resourceVersion }, items };
  }
  if (method === "GET") return store.get(collection, name ?? "", namespace);
  if (method === "DELETE") {
    const gone = store.delete(collection, name ?? "", namespace);
    if (gone) agent.onDelete(collection, gone);
    return gone;
  }
  const metadata = { ...body?.metadata, name: name ?? body?.metadata?.name, ...(namespace ? { namespace } : {}) };
  const written = store.merge(collection, { ...body, metadata });
  agent.onWrite(collection, written);
  return store.get(collection, written.metadata?.name ?? "", namespace) ?? written;
}

function selectorsOf(query: URLSearchParams): { labelSelector?: string; fieldSelector?: string } {
  return {
    labelSelector: query.get("labelSelector") ?? undefined,
    fieldSelector: query.get("fieldSelector") ?? undefined,
  };
}

function stream(store: ObjectStore, target: Target, query: URLSearchParams, response: ServerResponse): void {
  const selection = { namespace: target.namespace, ...selectorsOf(query) };
  response.writeHead(200, { "Content-Type": "application/json" });
  response.flushHeaders();
  const end = store.watch(target.collection, query.get("resourceVersion") ?? "0", (event) => {
    if (isSelected(event.object, selection)) response.write(`${JSON.stringify(event)}\n`);
  });
  response.on("close", end);
}

async function bodyOf(request: IncomingMessage): Promise<Json | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as Json);
}

function fail(response: ServerResponse, code: number, message: string): void {
  const reason = code === 404 ? "NotFound" : "InternalError";
  response.statusCode = code;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", code, reason, message }));
}
