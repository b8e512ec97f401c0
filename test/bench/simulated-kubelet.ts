import type { Pod, PodStatus } from "kubernetes-types/core/v1";
import { ShadowPodResource, type ShadowPod } from "../../agent/api/index.js";
import {
  Informer,
  PodResource,
  isAlreadyExists,
  kubeTime,
  ownerReference,
  type KubeClient,
} from "../../agent/runtime/index.js";

/** Plays a provider's controller and kubelets: each ShadowPod gets its Pod, and that runs at once. */
export class SimulatedKubelet {
  /** When each pod was said to run, by its name; milliseconds. */
  readonly runningAt = new Map<string, number>();
  /** Requests of its own, to be told from those of others. */
  requests = 0;
  private readonly shadows: Informer<ShadowPod>;
  private failure?: Error;

  constructor(
    private readonly provider: KubeClient,
    private readonly namespace: string,
  ) {
    this.shadows = new Informer(provider, ShadowPodResource, { namespace }).onEvent(({ type, object }) => {
      if (type === "added") this.run(object).catch((error: unknown) => (this.failure = error as Error));
    });
  }

  async start(): Promise<void> {
    this.shadows.start();
    await this.shadows.waitForSync();
  }

  /** @throws what has gone wrong meanwhile */
  async stop(): Promise<void> {
    await this.shadows.stop();
    if (this.failure) throw this.failure;
  }

  /** Changes whether a pod is ready. */
  async setReady(name: string, ready: boolean): Promise<void> {
    this.requests += 1;
    const status = { status: statusOf(ready) };
    await this.provider.mergePatch(PodResource, this.id(name), status, { subresource: "status" });
    this.runningAt.set(name, Date.now());
  }

  private async run(shadow: ShadowPod): Promise<void> {
    const name = shadow.metadata.name ?? "";
    this.requests += 1;
    try {
      await this.provider.create(PodResource, this.podOf(shadow));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    await this.setReady(name, true);
  }

  private podOf(shadow: ShadowPod): Pod {
    const { name = "", labels, annotations } = shadow.metadata;
    return {
      metadata: {
        ...this.id(name),
        labels,
        annotations,
        ownerReferences: [ownerReference(ShadowPodResource, shadow)],
      },
      spec: shadow.spec.pod,
    };
  }

  private id(name: string): { name: string; namespace: string } {
    return { name, namespace: this.namespace };
  }
}

function statusOf(ready: boolean): PodStatus {
  const at = kubeTime();
  const condition = (type: string, status: boolean) => ({
    type,
    status: status ? "True" : "False",
    lastTransitionTime: at,
  });
  return {
    phase: "Running",
    startTime: at,
    podIP: "10.201.0.9",
    podIPs: [{ ip: "10.201.0.9" }],
    hostIP: "172.30.0.12",
    conditions: [
      ...["PodScheduled", "Initialized", "PodReadyToStartContainers"].map((type) => condition(type, true)),
      ...["ContainersReady", "Ready"].map((type) => condition(type, ready)),
    ],
    containerStatuses: [
      {
        name: "main",
        image: "web",
        imageID: "sha256:1",
        ready,
        restartCount: 0,
        state: { running: { startedAt: at } },
      },
    ],
  };
}
