import type { Service } from "kubernetes-types/core/v1";
import { Informer, ServiceResource } from "../../agent/runtime/index.js";
import { exec } from "./exec.js";
import type { LabCluster } from "./lab.js";

/** Below are the addresses of nodes, above those that other tests lend. */
const FIRST_ADDRESS = 200;

/**
 * The load balancers of test clusters: every Service of theirs gets an address among the nodes' own, for which its cluster's first node answers. What comes there
 * is led on by who implements Services.
 */
export class LoadBalancers {
  private readonly informers: Informer<Service>[] = [];
  private readonly lent = new Map<string, string>();
  /** What could not be done. */
  readonly failures: unknown[] = [];

  /** @param loadBalancerClass of the Services that are served; by default, those without one */
  serve(lab: LabCluster, loadBalancerClass?: string): void {
    const informer = new Informer(lab.client, ServiceResource).onEvent(({ type, object: { metadata, spec } }) => {
      if (spec?.type !== "LoadBalancer" || spec.loadBalancerClass !== loadBalancerClass) return;
      const { uid = "" } = metadata ?? {};
      if (type === "deleted" || this.lent.has(uid)) return;
      const ip = this.freeAddress(lab);
      this.lent.set(uid, ip);
      this.lend(lab, metadata, ip).catch((error: unknown) => this.failures.push(error));
    });
    this.informers.push(informer.start());
  }

  async stop(): Promise<void> {
    await Promise.all(this.informers.map((informer) => informer.stop()));
  }

  private freeAddress({ cluster }: LabCluster): string {
    const network = (cluster.nodes[0]?.address ?? "").split(".").slice(0, 3);
    return [...network, FIRST_ADDRESS + this.lent.size].join(".");
  }

  private async lend({ client, cluster }: LabCluster, metadata: Service["metadata"], ip: string): Promise<void> {
    const { name = "", namespace } = metadata ?? {};
    const node = `--net=/run/netns/${cluster.nodes[0]?.netns}`;
    await exec("nsenter", [node, "ip", "address", "replace", `${ip}/32`, "dev", "eth0"]);
    const status = { loadBalancer: { ingress: [{ ip }] } };
    await client.mergePatch(ServiceResource, { name, namespace }, { status }, { subresource: "status" });
  }
}
