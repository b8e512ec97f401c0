/** What a request to a kubelet asks for (offloading specification, §7.4). */
export type KubeletRoute =
  | { kind: "logs"; namespace: string; pod: string; container: string }
  | { kind: "exec" | "attach"; namespace: string; pod: string; container: string }
  | { kind: "portForward"; namespace: string; pod: string }
  | { kind: "pods" | "runningPods" | "summary" | "healthz" }
  | { kind: "metrics"; set: "" | "cadvisor" | "resource" | "probes" };

/** Routes that become a stream in both directions. */
export type UpgradeRoute = Extract<KubeletRoute, { kind: "exec" | "attach" | "portForward" }>;

/** Reads a path; undefined when nothing is served there. */
export function parseKubeletPath(path: string): KubeletRoute | undefined {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  const [area = "", ...rest] = parts;
  switch (area) {
    case "containerLogs":
      return withContainer("logs", rest.length === 3 ? rest : []);
    case "exec":
    case "attach":
      return withContainer(area, rest);
    case "portForward": {
      const [namespace, pod] = rest;
      return namespace && pod && rest.length <= 3 ? { kind: "portForward", namespace, pod } : undefined;
    }
    default:
      return fixedRoute(parts.join("/"));
  }
}

export function isUpgradeRoute(route: KubeletRoute): route is UpgradeRoute {
  return route.kind === "exec" || route.kind === "attach" || route.kind === "portForward";
}

function fixedRoute(path: string): KubeletRoute | undefined {
  switch (path) {
    case "pods":
      return { kind: "pods" };
    case "runningpods":
      return { kind: "runningPods" };
    case "stats/summary":
      return { kind: "summary" };
    case "healthz":
      return { kind: "healthz" };
    case "metrics":
      return { kind: "metrics", set: "" };
    case "metrics/cadvisor":
      return { kind: "metrics", set: "cadvisor" };
    case "metrics/resource":
      return { kind: "metrics", set: "resource" };
    case "metrics/probes":
      return { kind: "metrics", set: "probes" };
    default:
      return undefined;
  }
}

/** {namespace}/{pod}/{container}, or with the pod's UID before the container. */
function withContainer(kind: "logs" | "exec" | "attach", rest: string[]): KubeletRoute | undefined {
  const [namespace, pod] = rest;
  const container = rest.at(-1);
  if (!namespace || !pod || !container || rest.length < 3 || rest.length > 4) return undefined;
  return { kind, namespace, pod, container };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The path and query of the provider's API server that answers the same question. */
export function remotePath(
  route: Extract<KubeletRoute, { pod: string }>,
  remoteNamespace: string,
  query: URLSearchParams,
): string {
  const subresource = { logs: "log", exec: "exec", attach: "attach", portForward: "portforward" }[route.kind];
  const path = `/api/v1/namespaces/${encodeURIComponent(remoteNamespace)}/pods/${encodeURIComponent(route.pod)}/${subresource}`;
  const text = remoteQuery(route, query).toString();
  return text ? `${path}?${text}` : path;
}

const LOG_PARAMETERS = [
  "follow",
  "previous",
  "timestamps",
  "sinceSeconds",
  "sinceTime",
  "tailLines",
  "limitBytes",
  "stream",
];
/** What the kubelet's parameters are called in the API. */
const STREAMS = { input: "stdin", output: "stdout", error: "stderr", tty: "tty" } as const;

function remoteQuery(route: Extract<KubeletRoute, { pod: string }>, query: URLSearchParams): URLSearchParams {
  const result = new URLSearchParams();
  switch (route.kind) {
    case "logs":
      result.set("container", route.container);
      for (const name of LOG_PARAMETERS) {
        const value = query.get(name);
        if (value !== null && value !== "") result.set(name, value);
      }
      return result;
    case "portForward":
      for (const port of query.getAll("port")) result.append("ports", port);
      return result;
    case "exec":
    case "attach":
      result.set("container", route.container);
      for (const [name, remoteName] of Object.entries(STREAMS)) {
        if (isTrue(query.get(name))) result.set(remoteName, "true");
      }
      if (route.kind === "exec") for (const word of query.getAll("command")) result.append("command", word);
      return result;
  }
}

function isTrue(value: string | null): boolean {
  return value === "1" || value?.toLowerCase() === "true";
}

/** Subresources of the node, any of which lets a user in (offloading specification, §7.3). */
export function subresourcesOf(path: string): string[] {
  if (path.startsWith("/stats/") || path === "/stats") return ["stats"];
  if (path.startsWith("/metrics")) return ["metrics"];
  if (path.startsWith("/logs/") || path === "/logs") return ["log"];
  if (path === "/pods" || path.startsWith("/runningpods")) return ["pods", "proxy"];
  if (path.startsWith("/healthz")) return ["healthz", "proxy"];
  if (path.startsWith("/configz")) return ["configz", "proxy"];
  return ["proxy"];
}

const VERBS: Record<string, string> = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

/** Streams count as "create" whatever the method: they run commands. */
export function verbOf(method: string, route: KubeletRoute | undefined): string {
  return route && isUpgradeRoute(route) ? "create" : (VERBS[method] ?? "get");
}
