import { Informer, type InformerOptions } from "./informer.js";
import type { KubeClient } from "./kube-client.js";
import type { Logger } from "./logger.js";
import { apiVersionOf, type KubeObject, type ResourceType } from "./resource-type.js";

/** Hands out one informer per kind, namespace and selector, so that a process holds each watch once. */
export class SharedInformers {
  private readonly informers = new Map<string, Informer<KubeObject>>();
  private started = false;

  constructor(
    private readonly client: KubeClient,
    private readonly logger?: Logger,
  ) {}

  /** The first caller's `trim` counts: it must keep what every user of the kind in this process needs. */
  for<T extends KubeObject>(type: ResourceType<T>, options: InformerOptions<T> = {}): Informer<T> {
    const key = [apiVersionOf(type), type.plural, options.namespace, options.labelSelector, options.fieldSelector].join(
      "|",
    );
    const present = this.informers.get(key);
    if (present) return present as unknown as Informer<T>;
    const informer = new Informer(this.client, type, { logger: this.logger, ...options });
    this.informers.set(key, informer as unknown as Informer<KubeObject>);
    if (this.started) informer.start();
    return informer;
  }

  /** Starts all and waits until each has its first list. */
  async start(timeoutMs = 60_000): Promise<void> {
    this.started = true;
    for (const informer of this.informers.values()) informer.start();
    await Promise.all([...this.informers.values()].map((informer) => informer.waitForSync(timeoutMs)));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.informers.values()].map((informer) => informer.stop()));
  }
}
