import http from "node:http";

/** Serves /healthz, /readyz and /livez for the kubelet's probes. */
export function startHealthServer(isReady: () => boolean, port: number): http.Server {
  const server = http.createServer((request, response) => {
    const ready = request.url !== "/readyz" || isReady();
    response.writeHead(ready ? 200 : 503, { "content-type": "text/plain" }).end(ready ? "ok" : "not ready");
  });
  return server.listen(port);
}
