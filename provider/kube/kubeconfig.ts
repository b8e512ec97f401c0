import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import type { ClusterArgs } from "../framework/cluster-args.js";
import type { ProviderConfig } from "../framework/provider-config.js";

/** What is wrong with the arguments that name a cluster, and with which of them. */
export class ClusterArgsError extends Error {
  constructor(
    readonly property: "kubeconfig" | "context",
    message: string,
  ) {
    super(message);
    this.name = "ClusterArgsError";
  }
}

/** A kubeconfig that was read, with the context chosen. */
export interface LoadedCluster {
  /** Equal for equal clusters and credentials. */
  key: string;
  context: string;
  kubeConfig: KubeConfig;
}

/**
 * Loads the kubeconfig that the arguments name: their own, else the provider's, else kubectl's rules (KUBECONFIG, ~/.kube/config).
 *
 * @throws ClusterArgsError without a line of the kubeconfig in its message
 */
export async function loadCluster(
  cluster: ClusterArgs | undefined,
  config: ProviderConfig,
  env: NodeJS.ProcessEnv = process.env,
): Promise<LoadedCluster> {
  return parseCluster(readCluster(cluster, config, env));
}

/** A kubeconfig's text (of several files, if KUBECONFIG lists them). */
interface Texts {
  text: string[];
  /** Files that KUBECONFIG lists and that are not there: what is sought in vain may have been in one. */
  missing: string[];
}

/** The texts, and the context asked for. */
export interface ClusterText extends Texts {
  context: string | undefined;
}

/** The texts alone, which cost little to read again: a file may have changed. @throws ClusterArgsError */
export function readCluster(
  cluster: ClusterArgs | undefined,
  config: ProviderConfig,
  env: NodeJS.ProcessEnv = process.env,
): ClusterText {
  const ownKubeconfig = nonEmpty(cluster?.kubeconfig);
  const kubeconfig = ownKubeconfig ?? nonEmpty(config.kubeconfig);
  // The provider's context belongs to the provider's kubeconfig.
  const context = nonEmpty(cluster?.context) ?? (ownKubeconfig === undefined ? nonEmpty(config.context) : undefined);
  return { ...readTexts(kubeconfig, env), context };
}

/** @throws ClusterArgsError */
export async function parseCluster(read: ClusterText): Promise<LoadedCluster> {
  return choose(await parse(read), read);
}

/** The names of all contexts, also where none is the current one. @throws ClusterArgsError */
export async function contextNames(read: ClusterText): Promise<string[]> {
  return namesIn(await parse(read));
}

function namesIn(configs: KubeConfig[]): string[] {
  return [...new Set(configs.flatMap((config) => config.getContexts().map(({ name }) => name)))];
}

function readTexts(kubeconfig: string | undefined, env: NodeJS.ProcessEnv): Texts {
  if (kubeconfig !== undefined) {
    return { text: [isContent(kubeconfig) ? kubeconfig : readNamed(kubeconfig)], missing: [] };
  }
  const listed = (env["KUBECONFIG"] ?? "").split(path.delimiter).filter((name) => name !== "");
  if (listed.length > 0) return readListed(listed);
  const usual = path.join(env["HOME"] ?? os.homedir(), ".kube", "config");
  const text = readIfThere(usual);
  if (text !== undefined) return { text: [text], missing: [] };
  throw new ClusterArgsError(
    "kubeconfig",
    `no kubeconfig: give one here or in the provider's configuration, set KUBECONFIG, or put one at ${usual}`,
  );
}

/** As kubectl does: a file that is not there counts for nothing, as long as another one is. Shells often list what is made only later. */
function readListed(names: string[]): Texts {
  const files = names.map((name) => ({ name, text: readIfThere(name, FROM_LIST) }));
  const text = files.flatMap((file) => file.text ?? []);
  const missing = files.filter((file) => file.text === undefined).map(({ name }) => name);
  if (text.length === 0) throw unreadable(missing, FROM_LIST, missing.length > 1 ? "none of them is there" : ABSENT);
  return { text, missing };
}

/** A path has no line breaks, and JSON or YAML of a kubeconfig always has "apiVersion" or a brace. */
function isContent(text: string): boolean {
  return text.includes("\n") || text.trimStart().startsWith("{") || text.includes("apiVersion");
}

const FROM_LIST = " (from KUBECONFIG)";
const ABSENT = "there is no such file";

function readNamed(name: string): string {
  const text = readIfThere(name);
  if (text === undefined) throw unreadable([name], "", ABSENT);
  return text;
}

/** At once: many resources name the same small files over and over, and the detour through other threads takes ten times as long. */
function readIfThere(name: string, origin = ""): string | undefined {
  const file = pathOf(name);
  try {
    const text = readFileSync(file, "utf8");
    return absolutePaths(text, path.dirname(path.resolve(file)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw unreadable([name], origin, code === "EACCES" ? "permission denied" : (code ?? "unreadable"));
  }
}

function unreadable(names: string[], origin: string, why: string): ClusterArgsError {
  const what = names.length > 1 ? "any of the kubeconfigs" : "the kubeconfig";
  return new ClusterArgsError("kubeconfig", `cannot read ${what} ${quoted(names)}${origin}: ${why}`);
}

function skipped(missing: string[]): string {
  return missing.length > 0 ? `; not there, so skipped: ${quoted(missing)}${FROM_LIST}` : "";
}

function quoted(names: string[]): string {
  return names.map((name) => JSON.stringify(shorten(pathOf(name)))).join(", ");
}

function pathOf(name: string): string {
  return name.startsWith("~/") ? path.join(os.homedir(), name.slice(2)) : name;
}

/** Files that a kubeconfig names relative to itself (certificates, keys, tokens). */
function absolutePaths(text: string, folder: string): string {
  return text.replace(
    /^(\s*(?:certificate-authority|client-certificate|client-key|tokenFile):\s*)(["']?)([^"'\s#][^"'\n#]*?)(["']?\s*)$/gm,
    (line, head: string, open: string, file: string, tail: string) =>
      path.isAbsolute(file) ? line : `${head}${open}${path.join(folder, file)}${tail}`,
  );
}

/** What looks like a path but is long is likelier a mangled kubeconfig: never printed whole. */
function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 24)}…` : text;
}

async function parse({ text: texts, missing }: Texts): Promise<KubeConfig[]> {
  const { KubeConfig: Config } = await import("@kubernetes/client-node");
  const configs = texts.map((text) => {
    const config = new Config();
    try {
      config.loadFromString(text);
    } catch {
      // The parser's own message quotes the text.
      throw new ClusterArgsError(
        "kubeconfig",
        "is no kubeconfig: neither valid YAML nor JSON with clusters, users and contexts",
      );
    }
    return config;
  });
  if (configs.length === 0 || (configs.length === 1 && configs[0]?.getContexts().length === 0)) {
    throw new ClusterArgsError("kubeconfig", `is no kubeconfig: it has no contexts${skipped(missing)}`);
  }
  return configs;
}

/**
 * Takes cluster and user from the file that has the context, where they are there: several files of one tool call their users alike. From
 * the others otherwise, the first coming first, as kubectl does.
 */
function configOf(configs: KubeConfig[], context: string): KubeConfig {
  const home = configs.find((config) => config.getContextObject(context)) as KubeConfig;
  const { cluster = "", user = "" } = home.getContextObject(context) ?? {};
  const elsewhere = configs.filter((config) => config !== home);
  const foreignCluster =
    home.getCluster(cluster) ?? elsewhere.map((config) => config.getCluster(cluster)).find(Boolean);
  const foreignUser = home.getUser(user) ?? elsewhere.map((config) => config.getUser(user)).find(Boolean);
  if (foreignCluster && !home.clusters.includes(foreignCluster)) home.clusters = [...home.clusters, foreignCluster];
  if (foreignUser && !home.users.includes(foreignUser)) home.users = [...home.users, foreignUser];
  return home;
}

function choose(configs: KubeConfig[], { text, missing, context: wanted }: ClusterText): LoadedCluster {
  const names = namesIn(configs);
  const context =
    wanted ?? configs.map((config) => nonEmpty(config.getCurrentContext())).find((name) => name !== undefined);
  const there = `${names.length > 0 ? names.join(", ") : "none"}${skipped(missing)}`;
  if (context === undefined) {
    throw new ClusterArgsError("context", `is needed, as the kubeconfig has no current context; there are ${there}`);
  }
  if (!names.includes(context)) {
    throw new ClusterArgsError(
      "context",
      `the kubeconfig has no context ${JSON.stringify(shorten(context))}; there are ${there}`,
    );
  }
  const kubeConfig = configOf(configs, context);
  kubeConfig.setCurrentContext(context);
  const cluster = kubeConfig.getCurrentCluster();
  if (!cluster?.server || !URL.canParse(cluster.server)) {
    throw new ClusterArgsError(
      "kubeconfig",
      `its context ${JSON.stringify(context)} names no cluster with a server URL`,
    );
  }
  const key = createHash("sha256")
    .update(JSON.stringify([text, context]))
    .digest("hex");
  return { key, context, kubeConfig };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text;
}
