import { Ports } from "../api/names.js";
import { aborted } from "../runtime/backoff.js";
import { serveMetrics } from "../runtime/health.js";
import { createLogger } from "../runtime/logger.js";
import { parseProxyArguments } from "./arguments.js";
import { formatAuthority } from "./authority.js";
import { ConnectProxy } from "./connect-proxy.js";
import { proxyMetrics } from "./metrics.js";

/** The proxy role: lets peers reach this cluster's API server through their tunnels. It has no rights in the cluster and no state. */
export async function runProxy(argv: string[], signal: AbortSignal): Promise<void> {
  const args = parseProxyArguments(argv);
  const logger = createLogger("proxy");
  const proxy = new ConnectProxy(args, logger);
  const port = await proxy.listen(args.port);
  const metrics = proxyMetrics(() => proxy.figures);
  const health = serveMetrics(metrics, Ports.health, logger);
  logger.info({ port, apiServer: formatAuthority(args.apiServer) }, "proxy started");
  await aborted(signal);
  health.close();
  await proxy.stop();
}
