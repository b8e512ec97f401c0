import http from "node:http";
import type { Logger } from "./logger.js";
import { MetricsAnswer, processMetrics, type Metric } from "./metrics.js";

/** Serves /healthz, /readyz and /livez for the kubelet's probes, and /metrics: the process' own and the role's. */
export function startHealthServer(isReady: () => boolean, port: number, metrics: readonly Metric[] = []): http.Server {
  const figures = new MetricsAnswer([...processMetrics(), ...metrics]);
  const server = http.createServer((request, response) => {
    if (request.url?.split("?", 1)[0] === "/metrics") return void figures.to(response);
    const ready = request.url !== "/readyz" || isReady();
    response.writeHead(ready ? 200 : 503, { "content-type": "text/plain" }).end(ready ? "ok" : "not ready");
  });
  return server.listen(port);
}

/** The same for roles that work without: where the port is taken, as it may be on a node, they say so and go on. */
export function serveMetrics(metrics: readonly Metric[], port: number, logger: Logger): http.Server {
  const server = startHealthServer(() => true, port, metrics);
  server.on("error", (error) => logger.warn({ port, reason: error.message }, "no metrics are served"));
  return server;
}
