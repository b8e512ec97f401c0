import { Labels, ShadowPodResource, VirtualNodeResource, type VirtualNode } from "../../api/index.js";
import { Controller, Informer, SecretResource, type KubeObject, type ResourceType } from "../../runtime/index.js";
import type { NamespacePair, VirtualNodeContext } from "../context.js";
import type { NamespaceActivity } from "../namespaces/namespace-manager.js";

/**
 * Takes away what virtual nodes of this provider have left there that have ended. Each looks after its own pods alone, and one that ended while the provider was
 * out of reach, or before it had heard that its Node is gone, has not done so; the namespaces stay, as this node is there. Watches: VirtualNodes. Of
 * all nodes of a provider one does this: the one that reflects.
 */
export class EndedNodes {
  readonly name = "ended-nodes";
  private readonly virtualNodes: Informer<VirtualNode>;
  private readonly controller: Controller;
  private readonly pairs = new Map<string, NamespacePair>();

  constructor(private readonly context: VirtualNodeContext) {
    const { local, logger } = context;
    this.virtualNodes = new Informer(local, VirtualNodeResource, { trim: clusterOnly, logger });
    this.controller = new Controller({
      name: this.name,
      workers: 1,
      logger,
      reconcile: (namespace) => this.reconcile(namespace),
    });
    this.controller.watch(this.virtualNodes, (_virtualNode, { type }) => (type === "deleted" ? this.pairs.keys() : []));
  }

  async start(): Promise<void> {
    this.virtualNodes.start();
    await this.virtualNodes.waitForSync();
    this.controller.start();
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await this.virtualNodes.stop();
  }

  /** Looks into a namespace now, and at each end of a virtual node until it is stopped. */
  open(pair: NamespacePair): NamespaceActivity {
    this.pairs.set(pair.local, pair);
    this.controller.enqueue(pair.local);
    return {
      stop: () => {
        if (this.pairs.get(pair.local) === pair) this.pairs.delete(pair.local);
        return Promise.resolve();
      },
    };
  }

  private async reconcile(namespace: string): Promise<void> {
    const pair = this.pairs.get(namespace);
    if (!pair) return;
    await this.clear(pair, ShadowPodResource);
    await this.clear(pair, SecretResource);
  }

  private async clear<T extends KubeObject>(
    { remote: namespace }: NamespacePair,
    type: ResourceType<T>,
  ): Promise<void> {
    const { config, local, remote, logger } = this.context;
    const known = this.namesOf(this.virtualNodes.list());
    const node = Labels.offloadingNodeName;
    const labelSelector = `${Labels.offloadingOrigin}=${config.homeClusterId},${node},${node} notin (${known.join()})`;
    const { items } = await remote.list(type, { namespace, labelSelector });
    if (items.length === 0) return;
    // Asked for after what is there: one that was made meanwhile has none of it.
    const present = this.namesOf((await local.list(VirtualNodeResource)).items);
    for (const { metadata } of items) {
      const of = metadata?.labels?.[node] ?? "";
      if (present.includes(of)) continue;
      await remote.delete(type, { name: metadata?.name ?? "", namespace }, { uid: metadata?.uid });
      logger.info(
        { kind: type.kind, namespace, name: metadata?.name, node: of },
        "left by a virtual node that has ended",
      );
    }
  }

  /** Of the virtual nodes of this provider; of this one in any case. */
  private namesOf(virtualNodes: readonly VirtualNode[]): string[] {
    const { foreignClusterId, nodeName } = this.context.config;
    const others = virtualNodes.filter(({ spec }) => spec.clusterID === foreignClusterId);
    return [...new Set([nodeName, ...others.map(({ metadata }) => metadata.name ?? "")])];
  }
}

function clusterOnly({ apiVersion, kind, metadata, spec }: VirtualNode): VirtualNode {
  return { apiVersion, kind, metadata, spec: { clusterID: spec.clusterID } };
}
