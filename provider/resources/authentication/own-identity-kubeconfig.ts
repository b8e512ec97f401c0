import { parse, stringify } from "yaml";

/** What of a kubeconfig the consumer's agent needs. */
interface Kubeconfig {
  "current-context"?: string;
  contexts?: { name?: string; context?: { cluster?: string; user?: string } }[];
  clusters?: { name?: string; cluster?: Entry }[];
  users?: { name?: string; user?: Entry }[];
}

type Entry = Record<string, unknown>;

/** Files of the machine that runs the program, which no agent can read. */
const FILES = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];
const EMBED = "embed it, as `kubectl config view --flatten --minify` does";

/**
 * Makes sure that the consumer's agent can work with a kubeconfig: it has everything in itself.
 *
 * @throws Error that quotes nothing of it but names
 */
export function checkOwnKubeconfig(text: string): void {
  const { cluster, user } = chosen(read(text));
  const { server } = cluster;
  if (typeof server !== "string" || !URL.canParse(server) || new URL(server).protocol !== "https:") {
    throw new Error("the cluster of its current context has no server URL that begins with https://");
  }
  for (const [name, entry] of Object.entries({ cluster, user })) {
    const file = FILES.find((key) => entry[key] !== undefined);
    if (file) throw new Error(`the ${name} of its current context names a file in ${file}: ${EMBED}`);
  }
}

/** The URL of the API server. @throws Error for what is no kubeconfig */
export function serverOf(text: string): string {
  const { server } = chosen(read(text)).cluster;
  return typeof server === "string" ? server : "";
}

/** The proxy that it names itself, if any. @throws Error for what is no kubeconfig */
export function proxyOf(text: string): string | undefined {
  const proxy = chosen(read(text)).cluster["proxy-url"];
  return typeof proxy === "string" && proxy !== "" ? proxy : undefined;
}

/** The same through a proxy, unless it names one itself; the text as it was where there is nothing to add. */
export function throughProxy(text: string, proxyURL: string | undefined): string {
  if (!proxyURL || proxyOf(text)) return text;
  const config = read(text);
  chosen(config).cluster["proxy-url"] = proxyURL;
  return stringify(config);
}

function read(text: string): Kubeconfig {
  try {
    // Warnings would quote it on the standard error stream.
    const config: unknown = parse(text, { logLevel: "error" });
    if (typeof config === "object" && config !== null) return config;
  } catch {
    // The parser's own message quotes the text.
  }
  throw new Error("is no kubeconfig: neither valid YAML nor JSON with clusters, users and contexts");
}

function chosen(config: Kubeconfig): { cluster: Entry; user: Entry } {
  const current = config["current-context"];
  if (!current) throw new Error("has no current-context");
  const context = named(config.contexts, current)?.context;
  const cluster = named(config.clusters, context?.cluster)?.cluster;
  const user = named(config.users, context?.user)?.user;
  if (!cluster || !user) throw new Error("its current context lacks its cluster or user");
  return { cluster, user };
}

function named<T extends { name?: string }>(entries: T[] | undefined, name: string | undefined): T | undefined {
  return Array.isArray(entries) ? entries.find((entry) => entry?.name === name) : undefined;
}
