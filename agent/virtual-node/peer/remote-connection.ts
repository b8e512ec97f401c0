import { KubeConfig } from "@kubernetes/client-node";
import type { Secret } from "kubernetes-types/core/v1";
import { DataKeys } from "../../api/index.js";
import { Informer, KubeClient, SecretResource, logChanges, messageOf, type Logger } from "../../runtime/index.js";
import type { VirtualNodeConfig } from "../arguments.js";

/**
 * The client of the provider's cluster, built from the kubeconfig Secret. When the Secret's content changes (a renewed
 * certificate, another address) the same client goes on with the new one: open watches break and come back by it.
 */
export class RemoteConnection {
  private readonly kubeConfig = new KubeConfig();
  private readonly secrets: Informer<Secret>;
  private text?: string;
  private client?: KubeClient;
  private readonly waiters: ((client: KubeClient) => void)[] = [];

  constructor(
    local: KubeClient,
    private readonly config: VirtualNodeConfig,
    private readonly logger: Logger,
  ) {
    this.secrets = new Informer(local, SecretResource, {
      namespace: config.tenantNamespace,
      fieldSelector: `metadata.name=${config.kubeconfigSecretName}`,
      logger,
    }).onEvent((event) => {
      if (event.type !== "deleted") this.load(event.object);
    });
  }

  start(): void {
    this.secrets.start();
  }

  async stop(): Promise<void> {
    await this.secrets.stop();
    this.client?.close();
  }

  /** Resolves as soon as there is a kubeconfig; undefined if the signal aborts first. */
  whenReady(signal: AbortSignal): Promise<KubeClient | undefined> {
    if (this.client) return Promise.resolve(this.client);
    return new Promise((resolve) => {
      const abandon = (): void => resolve(undefined);
      signal.addEventListener("abort", abandon, { once: true });
      this.waiters.push((client) => {
        signal.removeEventListener("abort", abandon);
        resolve(client);
      });
    });
  }

  private load(secret: Secret): void {
    const text = Buffer.from(secret.data?.[DataKeys.kubeconfig] ?? "", "base64").toString("utf8");
    if (text === "" || text === this.text) return;
    try {
      new KubeConfig().loadFromString(text);
    } catch (error) {
      const { namespace, name } = secret.metadata ?? {};
      this.logger.error({ secret: `${namespace}/${name}`, reason: messageOf(error) }, "kubeconfig is not readable");
      return;
    }
    this.text = text;
    this.kubeConfig.loadFromString(text);
    if (this.client) {
      this.logger.info("the provider's kubeconfig has changed");
      this.client.close();
      return;
    }
    this.client = new KubeClient(this.kubeConfig, { cluster: this.config.foreignClusterId });
    logChanges(this.client.transport, this.logger);
    for (const resolve of this.waiters.splice(0)) resolve(this.client);
  }
}
