import { expect } from "chai";
import { pino } from "pino";
import { RecentUsages, USAGES_MAX_AGE_MS } from "../../../agent/virtual-node/kubelet-api/recent-usages.js";
import { collectUsages } from "../../../agent/virtual-node/kubelet-api/remote-metrics.js";
import { resourceMetrics, type PodUsage } from "../../../agent/virtual-node/kubelet-api/stats.js";

const pod = (namespace: string, name: string) => ({ metadata: { name, namespace, uid: `${namespace}-${name}` } });
const usage = (cores: number): PodUsage[] => [
  { pod: pod("shop", "web"), containers: [{ name: "main", cpu: cores, memory: 1 }] },
];

/** The clock and the provider of a node with one pod. */
class Provider {
  now = 1_000_000;
  collections = 0;
  cores = 1;
  failed = false;
  /** Whether it answers at all. */
  isThere = true;
  /** Before it answers. */
  wait: Promise<void> = Promise.resolve();

  readonly recent = new RecentUsages(
    async () => {
      this.collections += 1;
      await this.wait;
      if (!this.isThere) throw new Error("unreachable");
      return { usages: usage(this.cores), failed: this.failed };
    },
    () => this.now,
  );

  /** Of the pod, as a reader of `/metrics/resource` finds it: seconds and when. */
  async cpu(): Promise<[seconds: number, at: number]> {
    const text = resourceMetrics(await this.recent.get(), this.recent.counters);
    const [, seconds, at] = /^pod_cpu_usage_seconds_total\{.*\} (\S+) (\d+)$/m.exec(text) ?? [];
    return [Number(seconds), Number(at)];
  }
}

describe("what pods use, as the kubelet API tells it", () => {
  it("is asked of the provider once in ten seconds, whoever asks", async () => {
    const provider = new Provider();
    const first = await provider.recent.get();
    expect(first.at).to.equal(provider.now);
    provider.now += USAGES_MAX_AGE_MS - 1;
    expect(await provider.recent.get()).to.equal(first);
    expect(provider.collections).to.equal(1);
    provider.now += 1;
    expect((await provider.recent.get()).at).to.equal(provider.now);
    expect(provider.collections).to.equal(2);
  });

  it("is collected once for all who ask at the same time, and is as old as its beginning", async () => {
    const provider = new Provider();
    let answer = (): void => undefined;
    provider.wait = new Promise((resolve) => (answer = resolve));
    const asked = [provider.recent.get(), provider.recent.get()];
    provider.now += USAGES_MAX_AGE_MS - 1;
    asked.push(provider.recent.get());
    answer();
    const [first, ...others] = await Promise.all(asked);
    expect(others).to.deep.equal([first, first]);
    expect(provider.collections).to.equal(1);
    provider.now += 1;
    await provider.recent.get();
    expect(provider.collections).to.equal(2);
  });

  it("is not remembered where it failed, for some or for all", async () => {
    const provider = new Provider();
    provider.failed = true;
    expect((await provider.recent.get()).failed).to.equal(true);
    provider.isThere = false;
    const words = await provider.recent.get().then(
      () => "answered",
      (error: Error) => error.message,
    );
    expect(words).to.equal("unreachable");
    [provider.isThere, provider.failed] = [true, false];
    expect((await provider.recent.get()).failed).to.equal(false);
    expect(provider.collections).to.equal(3);
    await provider.recent.get();
    expect(provider.collections).to.equal(3);
  });

  it("is added up once with each collection, whoever has asked for it, and told with its time", async () => {
    const provider = new Provider();
    const began = provider.now;
    await provider.cpu();
    provider.now += 5_000;
    expect(await provider.cpu()).to.deep.equal([0.001, began]);
    provider.now += 5_000;
    provider.cores = 0.5;
    // As for /stats/summary.
    await provider.recent.get();
    provider.now += 3_000;
    for (let again = 0; again < 2; again++) expect(await provider.cpu()).to.deep.equal([5, began + 10_000]);
    provider.now += 7_000;
    provider.cores = 2;
    expect(await provider.cpu()).to.deep.equal([25, began + 20_000]);
  });

  it("is told of the namespaces that could be asked about, by the node's own pods, with an error for the others", async () => {
    const paths: string[] = [];
    const request = (method: string, path: string): Promise<unknown> => {
      paths.push(`${method} ${path}`);
      if (path.includes("/bank-home/")) return Promise.reject(new Error("no metrics"));
      const containers = [{ name: "main", usage: { cpu: "500m", memory: "1Mi" } }];
      return Promise.resolve({ items: [{ metadata: { name: "web", namespace: "shop-home" }, containers }] });
    };
    const context = { remote: { request }, config: { nodeName: "far" }, logger: pino({ level: "silent" }) };
    const pairs = ["shop", "bank", "empty"].map((local) => ({ local, remote: `${local}-home` }));
    const pods = {
      inNamespace: (namespace: string) =>
        namespace === "empty" ? [] : [pod(namespace, "web"), pod(namespace, "without")],
    };
    const collect = (): ReturnType<typeof collectUsages> =>
      collectUsages(context as never, { pairs: () => pairs }, { pods } as never);
    const recent = new RecentUsages(collect, () => 1_000);
    const collected = await recent.get();
    expect(collected.failed).to.equal(true);
    expect(collected.usages.map((one) => one.pod.metadata)).to.deep.equal([pod("shop", "web").metadata]);
    const selector = "labelSelector=offloading.liqo.io%2Fnodename%3Dfar";
    expect(paths).to.deep.equal(
      ["shop-home", "bank-home"].map(
        (namespace) => `GET /apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods?${selector}`,
      ),
    );
    const text = resourceMetrics(collected, recent.counters);
    expect(text)
      .to.match(/^scrape_error 1$/m)
      .and.to.match(/^resource_scrape_error 1$/m);
    expect(text).to.match(/^pod_memory_working_set_bytes\{namespace="shop",pod="web"\} 1048576 1000$/m);
    expect(text).to.not.contain("bank");
  });
});
