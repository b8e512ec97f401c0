import type { KubeClient } from "../../agent/runtime/kube-client.js";
import type { ClusterArgs } from "../framework/cluster-args.js";
import type { ProviderConfig } from "../framework/provider-config.js";
import { parseCluster, readCluster, type LoadedCluster } from "./kubeconfig.js";
import { RecentAnswers } from "./recent-answers.js";

/** How long to wait for a cluster's first answer, and how long that answer counts. */
const PROBE_TIMEOUT_MS = 5_000;
const PROBE_VALID_MS = 60_000;

/** One client per kubeconfig and context, kept for the life of the plugin with its connections. */
export class ClusterClients {
  private readonly clients = new Map<string, KubeClient>();
  private readonly parsed = new Map<string, Promise<LoadedCluster>>();
  private readonly probes = new RecentAnswers(PROBE_VALID_MS, askForVersion, () => true);

  /** @throws ClusterArgsError */
  async get(cluster: ClusterArgs | undefined, config: ProviderConfig): Promise<KubeClient> {
    const { key, context, kubeConfig } = await this.load(cluster, config);
    const existing = this.clients.get(key);
    if (existing) return existing;
    const { KubeClient: Client } = await import("../../agent/runtime/kube-client.js");
    const client = this.clients.get(key) ?? new Client(kubeConfig, { cluster: context });
    this.clients.set(key, client);
    return client;
  }

  /** Asks the API server for its version. @throws KubeError naming the cluster and its address when no answer comes in time */
  async probe(client: KubeClient, signal: AbortSignal): Promise<void> {
    await this.probes.get(client, signal);
  }

  /** Parsed once for each text: a program of many resources names the same few clusters over and over. */
  private async load(cluster: ClusterArgs | undefined, config: ProviderConfig): Promise<LoadedCluster> {
    const read = readCluster(cluster, config);
    const key = JSON.stringify(read);
    const present = this.parsed.get(key);
    if (present) return present;
    const parsed = parseCluster(read);
    this.parsed.set(key, parsed);
    // What was wrong may be the file's content of a moment.
    parsed.catch(() => this.parsed.delete(key));
    return parsed;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
    this.parsed.clear();
  }
}

async function askForVersion(client: KubeClient): Promise<void> {
  const { isForbidden } = await import("../../agent/runtime/kube-error.js");
  try {
    await client.request("GET", "/version", { timeoutMs: PROBE_TIMEOUT_MS, subject: "its version" });
  } catch (error) {
    // It answers, and knows us; what we may do there is another question.
    if (!isForbidden(error)) throw error;
  }
}
