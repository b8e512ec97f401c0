import http from "node:http";
import { Counter, Registry, collectDefaultMetrics } from "prom-client";
import { answerMetrics } from "../runtime/metrics.js";
import type { VirtualNodeConfig } from "./arguments.js";
import type { ReflectionCounters } from "./reflection/reflection-counters.js";

const LABELS = ["namespace", "reflector_resource", "cluster_id", "node_name"] as const;

/**
 * `/metrics` of the virtual node's process, in plain HTTP, under the names that tools for Liqo know (offloading specification, §11). A node
 * that does not lead reflects nothing that belongs to a namespace, and tells nothing of it.
 *
 * @param address `host:port`, or `:port` for all addresses
 */
export function startMetricsServer(
  address: string,
  { foreignClusterId, nodeName }: VirtualNodeConfig,
  counters: ReflectionCounters,
): http.Server {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = (what: "item" | "error", help: string, of: "items" | "errors"): void => {
    new Counter({
      name: `liqo_virtual_kubelet_reflection_${what}_counter`,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect() {
        this.reset();
        for (const count of counters.list()) {
          const labels = { namespace: count.namespace, reflector_resource: count.resource };
          this.inc({ ...labels, cluster_id: foreignClusterId, node_name: nodeName }, count[of]);
        }
      },
    });
  };
  counter("item", "Objects reflected.", "items");
  counter("error", "Reflections that failed.", "errors");

  const server = http.createServer((request, response) => void answer(registry, request, response));
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, "");
  return server.listen(Number(address.slice(colon + 1)), ...(host ? [host] : []));
}

async function answer(registry: Registry, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  if (request.url?.split("?", 1)[0] !== "/metrics") return void response.writeHead(404).end();
  await answerMetrics(registry, response);
}
