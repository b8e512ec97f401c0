import path from "node:path";
import type { Command } from "commander";
import type { KubeConfig } from "@kubernetes/client-node";
import { KubeClient } from "../agent/runtime/kube-client.js";
import type { CallContext, ClusterArgs } from "../provider/framework/index.js";
import { providerConfig } from "../provider/framework/index.js";
import { ClusterArgsError, loadCluster } from "../provider/kube/kubeconfig.js";
import { UsageError, type Terminal } from "./terminal.js";

/** The options by which kubectl's users name a cluster. */
export interface ClusterFlags {
  kubeconfig?: string;
  context?: string;
  cluster?: string;
  user?: string;
  requestTimeout?: number;
}

/** The same for the other cluster of a pair. */
export interface RemoteClusterFlags {
  remoteKubeconfig?: string;
  remoteContext?: string;
  remoteCluster?: string;
  remoteUser?: string;
}

/** The other cluster of a pair, as a function is given it, and the options that belong to it. */
export interface RemoteCluster {
  args: ClusterArgs;
  flags: ClusterFlags;
}

const DEFAULT_TIMEOUT_MS = 15_000;

const REMOTE_PREFIX = "remote-";

/** `remote` for the other cluster of a pair: the same options with a prefix. */
export function addClusterFlags(command: Command, remote = false): Command {
  const prefix = remote ? REMOTE_PREFIX : "";
  const whose = remote ? "the remote cluster's" : "the";
  command
    .option(`--${prefix}kubeconfig <file>`, `${whose} kubeconfig (default: KUBECONFIG, then ~/.kube/config)`)
    .option(`--${prefix}context <name>`, `${whose} kubeconfig's context (default: its current one)`)
    .option(`--${prefix}cluster <name>`, `another cluster of ${whose} kubeconfig than the context's`)
    .option(`--${prefix}user <name>`, `another user of ${whose} kubeconfig than the context's`);
  if (remote) return command;
  return command.option("--request-timeout <duration>", 'how long an answer may take, such as "30s"', parseDuration);
}

/** The options with the prefix, by the names that they have without it. */
export function remoteFlagsOf(flags: RemoteClusterFlags): ClusterFlags {
  const { remoteKubeconfig, remoteContext, remoteCluster, remoteUser } = flags;
  return { kubeconfig: remoteKubeconfig, context: remoteContext, cluster: remoteCluster, user: remoteUser };
}

/** Whether a cluster is named at all. Each of the options does so alone: the rest is as the kubeconfig has it. */
export function namesCluster({ kubeconfig, context, cluster, user }: ClusterFlags): boolean {
  return [kubeconfig, context, cluster, user].some(Boolean);
}

const UNITS: Record<string, number> = { "": 1_000, ms: 1, s: 1_000, m: 60_000 };

/** Milliseconds of kubectl's form of durations: "30s", "1m", "500ms"; a bare number is seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(text);
  const milliseconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ""] ?? 0);
  if (milliseconds > 0) return milliseconds;
  throw new UsageError(`--request-timeout: "${text}" is not a duration above zero, such as 500ms, 30s or 1m`);
}

/** The arguments that name a cluster, as the functions take them. Relative paths are the caller's. */
export function clusterArgsOf({ kubeconfig, context }: ClusterFlags, { folder }: Terminal): ClusterArgs {
  const file = kubeconfig && !kubeconfig.startsWith("~/") ? path.resolve(folder, kubeconfig) : kubeconfig;
  return { ...(file ? { kubeconfig: file } : {}), ...(context ? { context } : {}) };
}

/** The context in which functions of the package run here, with clients that end with it. */
export class CommandContext implements CallContext {
  readonly urn = "";
  readonly name = "pulumi-liqo";
  readonly config = providerConfig.parse({});
  readonly deadline = Infinity;
  private readonly clients: KubeClient[] = [];

  constructor(
    private readonly terminal: Terminal,
    private readonly flags: ClusterFlags = {},
    private readonly remote?: RemoteCluster,
  ) {}

  get signal(): AbortSignal {
    return this.terminal.signal;
  }

  status(): void {
    // Nothing here takes long enough to be told of.
  }

  log(_severity: string, line: string): void {
    this.terminal.error(`${line}\n`);
  }

  /** @throws UsageError naming the option that is wrong */
  async client(cluster: ClusterArgs | undefined): Promise<KubeClient> {
    // By identity: both clusters may be of the same kubeconfig and context, and differ by the other options alone.
    const remote = this.remote?.args === cluster ? this.remote : undefined;
    const prefix = remote ? REMOTE_PREFIX : "";
    const loaded = await this.load(cluster, prefix);
    override(loaded.kubeConfig, remote?.flags ?? this.flags, prefix);
    const client = new KubeClient(loaded.kubeConfig, {
      cluster: loaded.context,
      timeoutMs: this.flags.requestTimeout ?? DEFAULT_TIMEOUT_MS,
    });
    this.clients.push(client);
    return client;
  }

  close(): void {
    for (const client of this.clients.splice(0)) client.close();
  }

  private async load(cluster: ClusterArgs | undefined, prefix: string) {
    try {
      return await loadCluster(cluster, this.config, this.terminal.env);
    } catch (error) {
      if (error instanceof ClusterArgsError) throw new UsageError(`--${prefix}${error.property}: ${error.message}`);
      throw error;
    }
  }
}

/** Puts another cluster or user of the kubeconfig in the place of the context's. */
function override(config: KubeConfig, { cluster, user }: ClusterFlags, prefix: string): void {
  const context = config.getContextObject(config.getCurrentContext());
  if (!context) return;
  if (cluster && !config.getCluster(cluster)) {
    throw new UsageError(`--${prefix}cluster: ${absent("cluster", cluster, config.getClusters())}`);
  }
  if (user && !config.getUser(user)) {
    throw new UsageError(`--${prefix}user: ${absent("user", user, config.getUsers())}`);
  }
  // An empty name is none, as a script's unset variable leaves it.
  const changed = { ...context, cluster: cluster || context.cluster, user: user || context.user };
  config.contexts = config.getContexts().map((one) => (one === context ? changed : one));
}

function absent(what: string, name: string, there: readonly { name: string }[]): string {
  return `the kubeconfig has no ${what} "${name}"; there are ${there.map((one) => one.name).join(", ") || "none"}`;
}
