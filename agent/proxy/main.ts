import { aborted } from "../runtime/backoff.js";
import { createLogger } from "../runtime/logger.js";
import { parseProxyArguments } from "./arguments.js";
import { formatAuthority } from "./authority.js";
import { ConnectProxy } from "./connect-proxy.js";

/** The proxy role: lets peers reach this cluster's API server through their tunnels. It has no rights in the cluster and no state. */
export async function runProxy(argv: string[], signal: AbortSignal): Promise<void> {
  const args = parseProxyArguments(argv);
  const logger = createLogger("proxy");
  const proxy = new ConnectProxy(args, logger);
  const port = await proxy.listen(args.port);
  logger.info({ port, apiServer: formatAuthority(args.apiServer) }, "proxy started");
  await aborted(signal);
  await proxy.stop();
}
