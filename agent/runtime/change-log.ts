import type { KubeRequest, KubeTransport } from "./kube-transport.js";
import type { Logger } from "./logger.js";

/** Written all the time, and no change to what anybody asked for. */
const UNTOLD = /^(events|leases|.*reviews)(\.|$)/;
const VERBS: Partial<Record<KubeRequest["method"], string>> = {
  POST: "created",
  PUT: "changed",
  PATCH: "changed",
  DELETE: "deleted",
};

/** One line of the log, at level info, for each change that is made through a client. Of contents nothing is told. */
export function logChanges(transport: KubeTransport, logger: Logger): void {
  transport.onWritten = (request) => {
    const change = request.isHeartbeat ? undefined : changeOf(request);
    if (change) logger.info({ cluster: transport.cluster, ...change }, VERBS[request.method] ?? request.method);
  };
}

interface Change {
  /** "tenants.authentication.liqo.io". */
  resource: string;
  namespace?: string;
  name?: string;
  /** A subresource: "status". */
  part?: string;
}

/** What a request has changed; undefined for what is not told. */
export function changeOf({ path, body }: Pick<KubeRequest, "path" | "body">): Change | undefined {
  const { pathname, searchParams } = new URL(path, "https://api");
  if (searchParams.has("dryRun") || body?.includes('"dryRun":["All"]')) return undefined;
  const parts = pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const group = parts[0] === "apis" ? (parts[1] ?? "") : "";
  const rest = parts.slice(parts[0] === "apis" ? 3 : 2);
  // Namespaces are objects themselves, with parts of their own.
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2 && !["status", "finalize"].includes(rest[2] ?? "");
  const [plural = "", nameInPath, part] = isNamespaced ? rest.slice(2) : rest;
  const resource = group ? `${plural}.${group}` : plural;
  if (plural === "" || UNTOLD.test(resource)) return undefined;
  const name = nameInPath ?? nameIn(body);
  return {
    resource,
    ...(isNamespaced ? { namespace: rest[1] } : {}),
    ...(name ? { name } : {}),
    ...(part ? { part } : {}),
  };
}

/** What is created has its name in itself. */
function nameIn(body: string | undefined): string | undefined {
  const { metadata } = JSON.parse(body ?? "{}") as { metadata?: { name?: string } };
  return metadata?.name;
}
