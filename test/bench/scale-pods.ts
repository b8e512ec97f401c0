import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "kubernetes-types/core/v1";
import { buildAgentBundle } from "../../scripts/build.js";
import { Informer, PodResource, type KubeClient } from "../../agent/runtime/index.js";
import { until } from "../clusters/support/wait.js";
import {
  LOCAL_NAMESPACE,
  NODE,
  REMOTE_NAMESPACE,
  startHarness,
  type Harness,
} from "../integration/virtual-node/harness.js";
import { isReady } from "../support/workload.js";
import { atMost, figure, median, type Result } from "./result.js";
import { SimulatedKubelet } from "./simulated-kubelet.js";
import { VirtualNodeProcess } from "./virtual-node-process.js";

const FEW = 10;
const MANY = 1_000;
const MOST = 5_000;
const CREATORS = 20;
const CHANGES = 50;
/** So that garbage is gone, and what waited for others has been written. */
const SETTLE_MS = 20_000;
const DEADLINE_MS = 15 * 60_000;
const START_MS = 60_000;

/** A virtual node with up to 5,000 pods between two real API servers without nodes; their provider is simulated in this process. */
export async function benchScalePods(counts: readonly number[] = [FEW, MANY, MOST]): Promise<Result[]> {
  await buildAgentBundle();
  const harness = await startHarness();
  const bench = new PodBench(harness);
  try {
    await harness.map("Accepted");
    await bench.start();
    const results: Result[] = [];
    for (const count of counts) results.push(...(await bench.grow(count)));
    return [...results, ...(await bench.changes()), ...bench.memoryPerPod(), ...(await bench.restart())];
  } finally {
    await bench.stop();
    await harness.stop();
  }
}

class PodBench {
  private readonly kubelet: SimulatedKubelet;
  private readonly process: VirtualNodeProcess;
  private readonly pods: Informer<Pod>;
  private readonly consumer: KubeClient;
  private readonly provider: KubeClient;
  /** When each pod's last change was seen here, by name; milliseconds. */
  private readonly seenAt = new Map<string, number>();
  private readonly memory = new Map<number, number>();
  private ownRequests = 0;

  constructor({ consumer, provider }: Harness) {
    this.consumer = consumer.client;
    this.provider = provider.client;
    this.kubelet = new SimulatedKubelet(this.provider, REMOTE_NAMESPACE);
    this.process = new VirtualNodeProcess(consumer);
    this.pods = new Informer(this.consumer, PodResource, { namespace: LOCAL_NAMESPACE }).onEvent((event) => {
      const wasReady = event.type === "updated" && isReady(event.old);
      if (event.type === "updated" && isReady(event.object) !== wasReady)
        this.seenAt.set(event.object.metadata?.name ?? "", Date.now());
    });
  }

  async start(): Promise<void> {
    await this.kubelet.start();
    await this.pods.start().waitForSync();
    await this.process.start();
  }

  async stop(): Promise<void> {
    await this.process.stop();
    this.process.remove();
    await Promise.all([this.pods.stop(), this.kubelet.stop()]);
  }

  /** Adds pods until there are so many, all ready. */
  async grow(count: number): Promise<Result[]> {
    const present = this.pods.list().length;
    const names = Array.from({ length: count - present }, (_, index) => `pod-${present + index}`);
    const before = await this.foreignRequests();
    const started = Date.now();
    await this.create(names);
    await until(`${count} pods ready`, DEADLINE_MS, () =>
      Promise.resolve(this.pods.list().filter(isReady).length === count ? true : undefined),
    );
    const seconds = (Date.now() - started) / 1000;
    await delay(SETTLE_MS);
    const requests = (await this.foreignRequests()) - before;
    const memory = await this.process.memory();
    this.memory.set(count, memory);
    return [
      figure(`virtual node: seconds until ${count} pods are ready, simulated provider`, seconds, "s"),
      figure(`virtual node: lag of a pod's start with ${count} pods, median`, this.lag(names), "ms"),
      figure(
        `virtual node: requests per pod, both API servers, up to ${count} pods`,
        requests / names.length,
        "requests",
      ),
      count === FEW
        ? atMost(`virtual node: memory with ${count} pods`, memory, "MiB", 80)
        : figure(`virtual node: memory with ${count} pods`, memory, "MiB"),
    ];
  }

  /** How long a change of the provider's takes to be seen here. */
  async changes(): Promise<Result[]> {
    const names = this.pods
      .list()
      .slice(0, CHANGES)
      .map(({ metadata }) => metadata?.name ?? "");
    for (const name of names) {
      this.seenAt.delete(name);
      await this.kubelet.setReady(name, false);
      await until(`the change of ${name}`, START_MS, () => Promise.resolve(this.seenAt.has(name) || undefined), 5);
    }
    const what = `status change at the provider to the consumer, with ${this.pods.list().length} pods, median`;
    return [atMost(what, this.lag(names), "ms", 100)];
  }

  memoryPerPod(): Result[] {
    const counts = [...this.memory.keys()];
    const [fewest = 0, most = 0] = [Math.min(...counts), Math.max(...counts)];
    const kibibytes = ((this.memory.get(most) ?? 0) - (this.memory.get(fewest) ?? 0)) * 1024;
    return [atMost("virtual node: memory of each further pod", kibibytes / (most - fewest), "KiB", 40)];
  }

  /** What a start costs the API servers when the pods are there already. */
  async restart(): Promise<Result[]> {
    await this.process.stop();
    const [name = ""] = this.pods.list().map(({ metadata }) => metadata?.name ?? "");
    await this.kubelet.setReady(name, true);
    this.seenAt.delete(name);
    const first = await this.foreignRequests();
    const started = Date.now();
    await this.process.start();
    let last = first;
    let peak = 0;
    for (let lookedAt = started; Date.now() - started < SETTLE_MS || !this.seenAt.has(name);) {
      if (Date.now() - started > START_MS)
        throw new Error(`the virtual node has not taken up its pods in ${START_MS / 1000} s`);
      await delay(1_000);
      const now = await this.foreignRequests();
      peak = Math.max(peak, ((now - last) * 1000) / (Date.now() - lookedAt));
      [last, lookedAt] = [now, Date.now()];
    }
    const pods = this.pods.list().length;
    return [
      figure(
        `virtual node: started with ${pods} pods, what it had missed is seen after`,
        (this.seenAt.get(name)! - started) / 1000,
        "s",
      ),
      figure(`virtual node: requests of a start with ${pods} pods`, last - first, "requests"),
      figure(`virtual node: requests of a start with ${pods} pods, at most per second`, peak, "requests/s"),
      figure(`virtual node: memory after a start with ${pods} pods`, await this.process.memory(), "MiB"),
    ];
  }

  private async create(names: readonly string[]): Promise<void> {
    const left = [...names];
    const creator = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        this.ownRequests += 1;
        await this.consumer.create(PodResource, podOf(name));
      }
    };
    await Promise.all(Array.from({ length: CREATORS }, creator));
  }

  private lag(names: readonly string[]): number {
    return median(names.map((name) => (this.seenAt.get(name) ?? NaN) - (this.kubelet.runningAt.get(name) ?? NaN)));
  }

  /** All requests that both API servers have had, but for those of this process. */
  private async foreignRequests(): Promise<number> {
    const all = await Promise.all([this.consumer, this.provider].map(requestsOf));
    return all.reduce((sum, count) => sum + count, 0) - this.ownRequests - this.kubelet.requests;
  }
}

/** Those for resources: an API server asks itself for health and the like all the time. */
async function requestsOf(client: KubeClient): Promise<number> {
  const lines = (await client.text("/metrics")).split("\n");
  return lines
    .filter(
      (line) =>
        line.startsWith("apiserver_request_total{") &&
        /resource="(pods|shadowpods|nodes|leases|events|secrets)"/.test(line),
    )
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

function podOf(name: string): Pod {
  return {
    metadata: { name, namespace: LOCAL_NAMESPACE, labels: { app: "web", "pod-template-hash": "5d4f8c7b9" } },
    spec: {
      nodeName: NODE,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: "web", resources: { requests: { cpu: "1m", memory: "1Mi" } } }],
    },
  };
}
