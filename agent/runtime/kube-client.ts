import type http from "node:http";
import { KubeConfig } from "@kubernetes/client-node";
import type { ListMeta, Status } from "kubernetes-types/meta/v1";
import { delay } from "./backoff.js";
import { KubeError, isNotFound } from "./kube-error.js";
import { KubeTransport } from "./kube-transport.js";
import { apiVersionOf, describeObject, type KubeObject, type ResourceType } from "./resource-type.js";
import { ServiceAccountAccess, isInPod, type ApiAccess } from "./service-account.js";

export interface ObjectName {
  name: string;
  namespace?: string;
}

export interface ListOptions {
  /** Absent = all namespaces. */
  namespace?: string;
  /** Selector text, or labels that must be equal. */
  labelSelector?: string | Record<string, string>;
  fieldSelector?: string;
  signal?: AbortSignal;
}

export interface KubeList<T> {
  metadata: ListMeta;
  items: T[];
}

export interface WriteOptions {
  dryRun?: boolean;
  signal?: AbortSignal;
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  /** Take fields over from other managers. Default true: our controllers own what they write. */
  force?: boolean;
  subresource?: "status";
}

export interface DeleteOptions extends WriteOptions {
  /** Deletes only the object of this UID; answers 409 otherwise. */
  uid?: string;
  resourceVersion?: string;
  gracePeriodSeconds?: number;
  propagationPolicy?: "Foreground" | "Background" | "Orphan";
}

export type WatchEvent<T> =
  { type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: T } | { type: "ERROR"; object: Status };

export interface WatchOptions extends ListOptions {
  resourceVersion?: string;
  /** Lets the server send the initial state as events, ended by an annotated bookmark. */
  sendInitialEvents?: boolean;
  timeoutSeconds?: number;
  /** Called once the server has agreed to tell of changes, which may be long before the first of them. */
  onOpen?: () => void;
}

export interface KubeClientOptions {
  /** The cluster's name in messages. Default: the context's cluster name. */
  cluster?: string;
  /** Milliseconds for an answer to begin. Default 15000. */
  timeoutMs?: number;
}

const MERGE_PATCH = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";
/** How long a server may say that it cannot take a request right now before that is an error; waits between tries follow its Retry-After. */
const BUSY_DEADLINE_MS = 20_000;
/** A watch whose connection carries nothing for this long is taken as dead (bookmarks come about every minute). */
const WATCH_IDLE_MS = 150_000;

/** A typed client of one cluster's API: plain JSON objects in and out, every error a KubeError that names the cluster and the object. */
export class KubeClient {
  readonly transport: KubeTransport;
  private readonly timeoutMs: number;

  constructor(access: ApiAccess, options: KubeClientOptions = {}) {
    this.transport = new KubeTransport(access, options.cluster ?? access.getCurrentCluster()?.name ?? "(unknown)");
    this.timeoutMs = options.timeoutMs ?? 15_000;
  }

  /** From a kubeconfig's text. Throws if it does not parse. */
  static fromText(kubeconfig: string, options: KubeClientOptions & { context?: string } = {}): KubeClient {
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    if (options.context) config.setCurrentContext(options.context);
    return new KubeClient(config, options);
  }

  /** From the pod's service account, or from KUBECONFIG outside a pod (for development). */
  static inCluster(options: KubeClientOptions = {}): KubeClient {
    if (isInPod(process.env)) return new KubeClient(new ServiceAccountAccess(process.env), options);
    const config = new KubeConfig();
    config.loadFromDefault();
    return new KubeClient(config, options);
  }

  get cluster(): string {
    return this.transport.cluster;
  }

  /** The object, or undefined when there is none. */
  async get<T extends KubeObject>(type: ResourceType<T>, id: ObjectName, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return await this.json<T>("GET", objectPath(type, id), { subject: describe(type, id), signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  list<T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    return this.listPage(type, options, {});
  }

  /**
   * The same list in parts of at most `limit` objects (0: in one), all as of the first one's resourceVersion. Throws a KubeError of code 410 when the server has
   * forgotten that version before the last part is asked for.
   */
  async *pages<T extends KubeObject>(
    type: ResourceType<T>,
    limit: number,
    options: ListOptions = {},
  ): AsyncGenerator<KubeList<T>, void> {
    let next: string | undefined;
    do {
      const page = await this.listPage(type, options, { limit: String(limit), continue: next });
      next = page.metadata.continue;
      yield page;
    } while (next);
  }

  private async listPage<T extends KubeObject>(
    type: ResourceType<T>,
    options: ListOptions,
    part: { limit?: string; continue?: string },
  ): Promise<KubeList<T>> {
    const path = withQuery(collectionPath(type, options.namespace), { ...selectors(options), ...part });
    const list = await this.json<KubeList<T>>("GET", path, {
      subject: `the list of ${type.plural}`,
      signal: options.signal,
    });
    const apiVersion = apiVersionOf(type);
    // Items of a list carry neither apiVersion nor kind.
    for (const item of list.items) Object.assign(item, { apiVersion, kind: type.kind });
    return list;
  }

  create<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions & { fieldManager?: string } = {},
  ): Promise<T> {
    const id = idOf(object);
    const path = withQuery(collectionPath(type, id.namespace), {
      ...dryRun(options),
      fieldManager: options.fieldManager,
    });
    return this.json<T>("POST", path, {
      subject: describe(type, id),
      body: typed(type, object),
      signal: options.signal,
    });
  }

  /** Server-side apply: creates or updates exactly the fields given, owned by the field manager. */
  apply<T extends KubeObject>(type: ResourceType<T>, object: DeepPartial<T>, options: ApplyOptions): Promise<T> {
    const id = idOf(object as KubeObject);
    const path = withQuery(objectPath(type, id, options.subresource), {
      ...dryRun(options),
      fieldManager: options.fieldManager,
      force: String(options.force ?? true),
    });
    return this.json<T>("PATCH", path, {
      subject: describe(type, id),
      body: typed(type, object as KubeObject),
      contentType: APPLY_PATCH,
      signal: options.signal,
    });
  }

  /** Replaces the object; its resourceVersion, if present, must still be current (409 otherwise). */
  replace<T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions & { subresource?: "status" } = {},
  ): Promise<T> {
    const id = idOf(object);
    const path = withQuery(objectPath(type, id, options.subresource), dryRun(options));
    return this.json<T>("PUT", path, {
      subject: describe(type, id),
      body: typed(type, object),
      signal: options.signal,
    });
  }

  replaceStatus<T extends KubeObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.replace(type, object, { ...options, subresource: "status" });
  }

  /** JSON merge patch: null removes. A heartbeat, which says again what is known, is no change that logs tell. */
  mergePatch<T extends KubeObject>(
    type: ResourceType<T>,
    id: ObjectName,
    patch: object,
    options: WriteOptions & { subresource?: "status"; fieldManager?: string; isHeartbeat?: boolean } = {},
  ): Promise<T> {
    const path = withQuery(objectPath(type, id, options.subresource), {
      ...dryRun(options),
      fieldManager: options.fieldManager,
    });
    const { signal, isHeartbeat } = options;
    return this.json<T>("PATCH", path, {
      subject: describe(type, id),
      body: patch,
      contentType: MERGE_PATCH,
      signal,
      isHeartbeat,
    });
  }

  /** JSON patch (RFC 6902): `test` operations make it conditional. */
  jsonPatch<T extends KubeObject>(
    type: ResourceType<T>,
    id: ObjectName,
    operations: readonly { op: string; path: string; value?: unknown; from?: string }[],
    options: WriteOptions & { subresource?: "status" | "resize" | "ephemeralcontainers" } = {},
  ): Promise<T> {
    const path = withQuery(objectPath(type, id, options.subresource), dryRun(options));
    return this.json<T>("PATCH", path, {
      subject: describe(type, id),
      body: operations,
      contentType: JSON_PATCH,
      signal: options.signal,
    });
  }

  /** True when the object was there (it may now be waiting for finalizers), false when there was none. */
  async delete(type: ResourceType, id: ObjectName, options: DeleteOptions = {}): Promise<boolean> {
    const preconditions =
      options.uid || options.resourceVersion
        ? { uid: options.uid, resourceVersion: options.resourceVersion }
        : undefined;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions,
      gracePeriodSeconds: options.gracePeriodSeconds,
      propagationPolicy: options.propagationPolicy ?? "Background",
      ...(options.dryRun ? { dryRun: ["All"] } : {}),
    };
    try {
      await this.json("DELETE", objectPath(type, id), { subject: describe(type, id), body, signal: options.signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Yields events until the server ends the watch, the signal aborts, or the connection fails (KubeError). */
  async *watch<T extends KubeObject>(
    type: ResourceType<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void> {
    const path = withQuery(collectionPath(type, options.namespace), {
      ...selectors(options),
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds),
      ...(options.sendInitialEvents ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" } : {}),
    });
    const response = await this.transport.send({
      method: "GET",
      path,
      timeoutMs: this.timeoutMs,
      signal: options.signal,
    });
    if (response.statusCode !== 200) throw await this.failure(response, `the watch of ${type.plural}`);
    options.onOpen?.();
    response.setTimeout(WATCH_IDLE_MS, () => response.destroy(new Error("nothing received")));
    try {
      for await (const line of lines(response)) yield JSON.parse(line) as WatchEvent<T>;
    } catch (error) {
      if (options.signal?.aborted) return;
      throw new KubeError(
        `cluster ${this.cluster}: the watch of ${type.plural} broke`,
        0,
        "WatchBroken",
        this.cluster,
        undefined,
        {
          cause: error,
        },
      );
    } finally {
      response.destroy();
    }
  }

  /** Any other call: parses a JSON answer. */
  request<T>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options: { body?: object; contentType?: string; signal?: AbortSignal; subject?: string; timeoutMs?: number } = {},
  ): Promise<T> {
    return this.json<T>(method, path, { subject: options.subject ?? path, ...options });
  }

  /** The answer's text, for endpoints that do not speak JSON (/livez, pod logs). */
  async text(path: string, options: { signal?: AbortSignal; timeoutMs?: number } = {}): Promise<string> {
    const response = await this.transport.send({
      method: "GET",
      path,
      accept: "*/*",
      timeoutMs: options.timeoutMs ?? this.timeoutMs,
      signal: options.signal,
    });
    if ((response.statusCode ?? 0) >= 300) throw await this.failure(response, path);
    return readText(response);
  }

  close(): void {
    this.transport.close();
  }

  private async json<T>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options: {
      subject: string;
      body?: object;
      contentType?: string;
      signal?: AbortSignal;
      timeoutMs?: number;
      isHeartbeat?: boolean;
    },
  ): Promise<T> {
    const deadline = Date.now() + BUSY_DEADLINE_MS;
    for (;;) {
      const response = await this.transport.send({
        method,
        path,
        contentType: options.contentType,
        body: options.body === undefined ? undefined : JSON.stringify(options.body),
        timeoutMs: options.timeoutMs ?? this.timeoutMs,
        signal: options.signal,
        isHeartbeat: options.isHeartbeat,
      });
      if ((response.statusCode ?? 0) < 300) return JSON.parse(await readText(response)) as T;
      const error = await this.failure(response, options.subject);
      const isPassing = isBusy(error) || isWebhookStarting(error);
      if (!isPassing || options.signal?.aborted || Date.now() > deadline) throw error;
      // Not processed: the server is busy, has only just begun to serve this kind, or its webhook has.
      const seconds = Number(response.headers["retry-after"] ?? 1);
      await delay(Math.min(Math.max(seconds, 0.2), 3) * 1000 * (0.5 + Math.random() / 2), options.signal);
    }
  }

  private async failure(response: http.IncomingMessage, subject: string): Promise<KubeError> {
    const text = await readText(response).catch(() => "");
    const status = parseStatus(text);
    const code = response.statusCode ?? 0;
    const why = status?.message ?? (text.slice(0, 300) || `HTTP ${code}`);
    return new KubeError(
      `cluster ${this.cluster}, ${subject}: ${why}`,
      code,
      status?.reason ?? `Http${code}`,
      this.cluster,
      status,
    );
  }
}

/** 429 is also the answer to an eviction that a disruption budget forbids: whoever evicts must know that at once. */
function isBusy({ code, status }: KubeError): boolean {
  return code === 429 && !status?.details?.causes?.some(({ reason }) => reason === "DisruptionBudget");
}

/** The process that is to admit the write is on its way up, or to another node: nobody has looked at the write. */
function isWebhookStarting({ code, status }: KubeError): boolean {
  return (
    code === 500 && /failed calling webhook.*(no endpoints available|connection refused)/s.test(status?.message ?? "")
  );
}

/** What server-side apply takes: any part of the object. */
export type DeepPartial<T> = T extends (infer E)[]
  ? DeepPartial<E>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T;

function describe(type: ResourceType, id: ObjectName): string {
  return describeObject(type, id.name, id.namespace);
}

function idOf(object: KubeObject): ObjectName {
  return { name: object.metadata?.name ?? "", namespace: object.metadata?.namespace };
}

function typed(type: ResourceType, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}

/** Path of a kind's collection, in one namespace or over all. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}

/** Path of one object. Throws if a namespaced object has no namespace, as that would address the whole collection. */
export function objectPath(type: ResourceType, id: ObjectName, subresource?: string): string {
  if (!id.name || (type.namespaced && !id.namespace)) {
    throw new TypeError(`${type.kind}: a name${type.namespaced ? " and a namespace are" : " is"} needed`);
  }
  const path = `${collectionPath(type, id.namespace)}/${encodeURIComponent(id.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

function withQuery(path: string, query: Record<string, string | undefined>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") parameters.set(key, value);
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

function selectors(options: ListOptions): Record<string, string | undefined> {
  const { labelSelector } = options;
  const labels =
    typeof labelSelector === "object"
      ? Object.entries(labelSelector)
          .map(([key, value]) => `${key}=${value}`)
          .join(",")
      : labelSelector;
  return { labelSelector: labels, fieldSelector: options.fieldSelector };
}

function dryRun(options: WriteOptions): Record<string, string | undefined> {
  return { dryRun: options.dryRun ? "All" : undefined };
}

/** By events: an iterator costs several times as much, and every answer comes through here. */
function readText(response: http.IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    response.on("error", reject);
    response.on("close", () => reject(new Error("the connection was closed before the answer's end")));
  });
}

function parseStatus(text: string): Status | undefined {
  try {
    const value = JSON.parse(text) as Status;
    return value.kind === "Status" ? value : undefined;
  } catch {
    return undefined;
  }
}

async function* lines(stream: http.IncomingMessage): AsyncGenerator<string> {
  const parts: string[] = [];
  stream.setEncoding("utf8");
  for await (const chunk of stream as AsyncIterable<string>) {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      parts.push(chunk.slice(start, end));
      const line = parts.join("");
      parts.length = 0;
      start = end + 1;
      if (line) yield line;
    }
    if (start < chunk.length) parts.push(chunk.slice(start));
  }
}
