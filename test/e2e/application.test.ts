import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  IngressResource,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  ServiceResource,
} from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { offload, peerings } from "../soak/environment.js";
import { soak } from "../soak/soak.js";
import { prepareAuditedLab } from "../support/audit.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { offloadNamespace } from "../support/offload-namespace.js";
import { writeProgram } from "../support/program.js";
import type { PulumiStack } from "../support/pulumi.js";
import { VolumeProvisioner } from "../support/volume-provisioner.js";
import { isReady, waitForPods } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CONSUMER = { name: "app-consumer", ...RANGES };
const EAST = { name: "app-east", ...RANGES };
const WEST = { name: "app-west", ...RANGES };
const SHOP = "shop";
const REMOTE_SHOP = "shop-app-consumer";
const SOAK = "soak";
const SOAK_MS = 60_000;
const INGRESS_CLASS = "edge";
const LOAD_BALANCER_CLASS = "example.org/metal";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;
const MANIFESTS = path.join(REPOSITORY, "test/e2e/application/shop.yaml");

/** One application of five parts over three clusters, by manifests that know of none; and then everything at random. */
describe("an application over three clusters", function () {
  this.timeout(180_000);
  stopAtFirstFailure();
  let consumer: LabCluster, east: LabCluster, west: LabCluster;
  let stack: PulumiStack;
  const volumes = new VolumeProvisioner();
  const folder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-application-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab([CONSUMER, EAST, WEST]);
    [consumer, east, west] = lab.clusters as [LabCluster, LabCluster, LabCluster];
    await Promise.all([volumes.serve(east), volumes.serve(west)]);
    const resources = peerings(lab, consumer, [east, west]);
    for (const { name } of [EAST, WEST])
      Object.assign(resources[name]!.properties, {
        ingressClasses: [INGRESS_CLASS],
        loadBalancerClasses: [LOAD_BALANCER_CLASS],
      });
    stack = await writeProgram(lab, folder, "application", resources);
    await stack.up();
  });

  after(async () => {
    if (!KEEP) await downClusters([CONSUMER, EAST, WEST].map(({ name }) => name));
    await volumes.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const podsOf = (app: string, count: number): Promise<Pod[]> =>
    waitForPods(consumer, SHOP, `${count} pods of ${app} Ready`, (pods) => {
      const ready = pods.filter((pod) => pod.metadata?.labels?.["app"] === app && isReady(pod));
      return ready.length === count ? ready : undefined;
    });
  const ask = (pod: Pod, url: string): Promise<string> =>
    consumer.kubectl(["exec", "-n", SHOP, pod.metadata?.name ?? "", "--", "wget", "-q", "-T", "8", "-O", "-", url]);
  /** Where a database has just come, a Service leads to it a moment after its pod is Ready. */
  const orders = (pod: Pod): Promise<number> =>
    until(`the database's answer to ${pod.metadata?.name}`, 60_000, async () =>
      Number(await ask(pod, "http://database/cgi-bin/orders")),
    );
  const providers = (): Record<string, LabCluster> => ({ [EAST.name]: east, [WEST.name]: west });

  it("is deployed unchanged, and runs in all of them", async () => {
    await offloadNamespace(consumer, SHOP, { podOffloadingStrategy: "LocalAndRemote" });
    await consumer.kubectl(["apply", "-n", SHOP, "-f", MANIFESTS]);
    const web = await podsOf("web", 3);
    expect(new Set(web.map(({ spec }) => spec?.nodeName))).to.deep.equal(
      new Set([consumer.cluster.nodes[0]?.name, EAST.name, WEST.name]),
    );
    await Promise.all([podsOf("cache", 1), podsOf("worker", 1), podsOf("database", 1)]);
    expect(volumes.failures).to.deep.equal([]);
  });

  it("answers through its Services, from each cluster to each part", async () => {
    const web = await podsOf("web", 3);
    for (const from of web) {
      const first = await orders(from);
      const hosts = new Set<string>();
      await until(`answers of all web pods, to ${from.spec?.nodeName}`, 60_000, async () => {
        const [host = "", greeting, count] = (await ask(from, "http://web/cgi-bin/shop")).trim().split(" ");
        expect(greeting).to.equal("welcome");
        if (Number(count) > first) hosts.add(host);
        return hosts.size === 3 ? true : undefined;
      });
    }
  });

  it("is published by the providers' ingress and load balancer classes", async () => {
    for (const [name, { client }] of Object.entries(providers())) {
      const ingress = await until(`the Ingress in ${name}`, 20_000, () =>
        client.get(IngressResource, { name: "web", namespace: REMOTE_SHOP }),
      );
      expect(ingress.spec?.ingressClassName).to.equal(INGRESS_CLASS);
      expect(ingress.spec?.rules?.[0]?.host).to.equal("shop.example");
      expect(ingress.spec?.rules?.[0]?.http?.paths[0]?.backend.service?.name).to.equal("web");
      const door = await until(`the Service in ${name}`, 20_000, () =>
        client.get(ServiceResource, { name: "door", namespace: REMOTE_SHOP }),
      );
      expect(door.spec).to.include({ type: "LoadBalancer", loadBalancerClass: LOAD_BALANCER_CLASS });
    }
  });

  it("keeps its data in one cluster, and the database comes back to it", async () => {
    const [database] = await podsOf("database", 1);
    const home = database?.spec?.nodeName ?? "";
    expect(Object.keys(providers())).to.include(home);
    const claim = await consumer.client.get(PersistentVolumeClaimResource, {
      name: "data-database-0",
      namespace: SHOP,
    });
    expect(claim?.status?.phase).to.equal("Bound");
    const volume = await consumer.client.get(PersistentVolumeResource, { name: claim?.spec?.volumeName ?? "" });
    expect(JSON.stringify(volume?.spec?.nodeAffinity)).to.contain(home);
    const before = await orders(database!);
    expect(before).to.be.greaterThan(0);
    await consumer.kubectl(["delete", "pod", "database-0", "-n", SHOP]);
    const [next] = await podsOf("database", 1);
    expect(next?.metadata?.uid).to.not.equal(database?.metadata?.uid);
    expect(next?.spec?.nodeName).to.equal(home);
    expect(await orders(next!)).to.be.at.least(before);
  });

  it("goes from all of them, with its data", async () => {
    await consumer.kubectl(["delete", "-n", SHOP, "--wait=false", "-f", MANIFESTS]);
    await consumer.kubectl(["delete", "pvc", "-n", SHOP, "--all", "--timeout=60s"], { timeoutMs: 70_000 });
    for (const [name, { client }] of Object.entries(providers()))
      await until(`no claim in ${name}`, 60_000, async () => {
        const { items } = await client.list(PersistentVolumeClaimResource, { namespace: REMOTE_SHOP });
        return items.length === 0 ? true : undefined;
      });
    await until("no volume here", 60_000, async () =>
      (await consumer.client.list(PersistentVolumeResource)).items.length === 0 ? true : undefined,
    );
  });

  it("and a minute of random changes, kills and partitions leaves two of the clusters in agreement", async function () {
    this.timeout(SOAK_MS + 360_000);
    const seed = Number(process.env["SOAK_SEED"] ?? Date.now() % 1_000_000);
    await offload(consumer, SOAK, EAST.name);
    const lines = [`seed ${seed}`];
    const result = await soak({
      consumer: { lab: consumer, spec: CONSUMER },
      provider: { lab: east, spec: EAST },
      namespace: SOAK,
      remoteNamespace: SOAK,
      virtualNode: EAST.name,
      milliseconds: SOAK_MS,
      seed,
      log: (line) => lines.push(line),
    });
    console.log(`      seed ${seed}: ${result.changes} changes; ${result.faults.join(", ")}`);
    const findings = [...result.disagreements, ...result.duplicates, ...result.moved];
    expect(findings, lines.join("\n")).to.deep.equal([]);
    expect(result.changes).to.be.greaterThan(0);
    expect(result.faults).to.not.deep.equal([]);
  });
});
