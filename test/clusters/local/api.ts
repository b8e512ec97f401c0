import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { clusterPaths } from "./paths.js";
import { controlPlane, type ClusterRecord } from "./record.js";

/** A Kubernetes object as the bring-up writes it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

/** Administrator's access to a cluster's API server, as little of it as the bring-up needs. */
export interface Api {
  /** GET; undefined when the object is not there. */
  get<T>(path: string): Promise<T | undefined>;
  /** Server-side apply. */
  apply(path: string, manifest: Manifest): Promise<void>;
  /** Resolves at the first change below a collection's path after a version, or when the server ends the watch. */
  changed(path: string, resourceVersion: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

const REQUEST_TIMEOUT_MS = 10_000;
const WATCH_SECONDS = 300;

export function connect(record: ClusterRecord): Api {
  const pki = clusterPaths(record.spec.name).pki;
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(join(pki, "ca.crt")),
    cert: readFileSync(join(pki, "admin.crt")),
    key: readFileSync(join(pki, "admin.key")),
  });
  const host = controlPlane(record).address;
  const send = (method: string, path: string, body?: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/apply-patch+yaml" };
      const call = request(
        { agent, host, port: 6443, method, path, headers, timeout: REQUEST_TIMEOUT_MS },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
          response.on("error", reject);
        },
      );
      call.on("timeout", () => call.destroy(new Error("no answer in time")));
      call.on("error", reject);
      call.end(body);
    });
  const fail = (method: string, path: string, status: number, text: string): Error =>
    new Error(`cluster ${record.spec.name}: ${method} ${path}: ${status} ${text.slice(0, 500)}`);
  return {
    async get<T>(path: string) {
      const { status, text } = await send("GET", path);
      if (status === 404) return undefined;
      if (status !== 200) throw fail("GET", path, status, text);
      return (text.startsWith("{") ? JSON.parse(text) : text) as T;
    },
    async apply(path, manifest) {
      const query = "fieldManager=test-clusters&force=true";
      const { status, text } = await send(
        "PATCH",
        `${path}/${manifest.metadata.name}?${query}`,
        JSON.stringify(manifest),
      );
      if (status >= 300) throw fail("PATCH", path, status, text);
    },
    changed: (path, resourceVersion, signal) =>
      new Promise((resolve, reject) => {
        const query = `watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=${WATCH_SECONDS}`;
        const call = request({ agent, host, port: 6443, path: `${path}?${query}`, signal }, (response) => {
          response.once("data", () => call.destroy());
          response.on("close", resolve);
          response.on("error", () => resolve());
          response.resume();
        });
        call.on("error", reject);
        call.end();
      }),
    close: () => agent.destroy(),
  };
}
