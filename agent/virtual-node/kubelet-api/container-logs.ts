import type http from "node:http";
import { pour, type KubeTransport } from "../../runtime/index.js";

/** Why a combination of log parameters is not valid, if so. */
export function logParameterProblem(query: URLSearchParams): string | undefined {
  if (query.get("sinceSeconds") && query.get("sinceTime")) return "only one of sinceSeconds and sinceTime may be given";
  for (const name of ["sinceSeconds", "tailLines", "limitBytes"]) {
    const value = query.get(name);
    if (value && !/^\d+$/.test(value)) return `${name}: "${value}" is not a whole number of at least 0`;
  }
  return undefined;
}

/**
 * Passes a container's logs on as they come, without a time limit of its own: `logs -f` of a quiet container waits for
 * hours. Ends when either side does; resolves when they begin to come, for which the signal ends the wait.
 */
export async function relayLogs(
  response: http.ServerResponse,
  remote: KubeTransport,
  path: string,
  waiting: AbortSignal,
): Promise<void> {
  const abort = new AbortController();
  response.on("close", () => abort.abort());
  const giveUp = (): void => abort.abort();
  waiting.addEventListener("abort", giveUp, { once: true });
  const upstream = await remote.send({ method: "GET", path, accept: "*/*", timeoutMs: 0, signal: abort.signal });
  waiting.removeEventListener("abort", giveUp);
  const type = upstream.headers["content-type"];
  response.writeHead(upstream.statusCode ?? 502, type ? { "content-type": type } : {});
  response.flushHeaders();
  upstream.on("error", () => response.destroy());
  pour(upstream, response);
}
