import http from "node:http";
import { createLogger, type Logger } from "./logger.js";
import { MetricsAnswer, processMetrics, type Metric } from "./metrics.js";

/**
 * Serves /healthz, /readyz and /livez for the kubelet's probes, and on the next port /metrics, as tools expect it: probes on 8081, figures on 8082 (API
 * specification, §10). Closing it closes both.
 */
export function startHealthServer(isReady: () => boolean, port: number, metrics: readonly Metric[] = []): http.Server {
  const server = http.createServer((request, response) => {
    const ready = request.url !== "/readyz" || isReady();
    response.writeHead(ready ? 200 : 503, { "content-type": "text/plain" }).end(ready ? "ok" : "not ready");
  });
  const figures = startFiguresServer(metrics, port === 0 ? 0 : port + 1, createLogger("metrics"));
  server.on("close", () => figures.close());
  return server.listen(port);
}

/** Serves /metrics: the process' own and the role's. Nothing depends on them: where the port is taken, as it may be on a node, that is said, and the role goes on. */
export function startFiguresServer(metrics: readonly Metric[], port: number, logger: Logger): http.Server {
  const figures = new MetricsAnswer([...processMetrics(), ...metrics]);
  const server = http.createServer((request, response) => {
    if (request.url?.split("?", 1)[0] === "/metrics") return void figures.to(response);
    return void response.writeHead(404, { "content-type": "text/plain" }).end("figures are at /metrics");
  });
  server.on("error", (error) => logger.warn({ port, reason: error.message }, "no metrics are served"));
  return server.listen(port);
}

/** The same for roles that work without probes, too. */
export function serveMetrics(metrics: readonly Metric[], port: number, logger: Logger): http.Server {
  const server = startHealthServer(() => true, port, metrics);
  server.on("error", (error) => logger.warn({ port, reason: error.message }, "no probes are answered"));
  return server;
}
