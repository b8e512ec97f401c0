import type { Pod } from "kubernetes-types/core/v1";
import { Informer, PodResource, type KubeClient } from "../../agent/runtime/index.js";

const IDENTITY = "statefulset.kubernetes.io/pod-name";

/** A namespace of a cluster in which pods run. */
export interface Place {
  client: KubeClient;
  namespace: string;
  /** Nodes whose pods are only pictures of another cluster's. */
  virtualNodes?: readonly string[];
}

/** Watches all clusters at once for pods of StatefulSets that run twice: containers of one identity in two of them. */
export class DuplicateWatch {
  readonly found: string[] = [];
  private readonly informers: Informer<Pod>[];
  /** By identity: the clusters in which it runs, each with its containers. */
  private readonly running = new Map<string, Map<string, string>>();

  constructor(places: readonly Place[]) {
    this.informers = places.map((place) =>
      new Informer(place.client, PodResource, { namespace: place.namespace, labelSelector: IDENTITY }).onEvent(
        ({ type, object }) => this.see(place, object, type !== "deleted"),
      ),
    );
  }

  start(): void {
    for (const informer of this.informers) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.informers.map((informer) => informer.stop()));
  }

  private see({ client, virtualNodes }: Place, { metadata, spec, status }: Pod, isThere: boolean): void {
    if (virtualNodes?.includes(spec?.nodeName ?? "")) return;
    const identity = metadata?.labels?.[IDENTITY] ?? "";
    const places = this.running.get(identity) ?? new Map<string, string>();
    this.running.set(identity, places);
    const containers = status?.containerStatuses?.flatMap(({ containerID, state }) =>
      containerID && state?.running ? [containerID] : [],
    );
    if (!isThere || !containers?.length) return void places.delete(client.cluster);
    places.set(client.cluster, containers.join(" "));
    if (places.size < 2) return;
    this.found.push(`${identity}: ${[...places].map(([cluster, running]) => `${running} in ${cluster}`).join(", ")}`);
  }
}
