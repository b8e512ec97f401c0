import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod, Service } from "kubernetes-types/core/v1";
import type { Ingress } from "kubernetes-types/networking/v1";
import {
  IngressResource,
  messageOf,
  PersistentVolumeClaimResource,
  PersistentVolumeResource,
  ServiceResource,
  StorageClassResource,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { publishedAtAnnotation } from "../../agent/virtual-node/reflection/published-address.js";
import { downClusters } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { offload, peerings } from "../soak/environment.js";
import { soak } from "../soak/soak.js";
import { prepareAuditedLab } from "../support/audit.js";
import { deployIngressController } from "../support/ingress-controller/deploy.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { LoadBalancers } from "../support/load-balancers.js";
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
/** The consumer's own, and its default. */
const HOME_INGRESS_CLASS = "home";
const LOAD_BALANCER_CLASS = "example.org/metal";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;
const MANIFESTS = path.join(REPOSITORY, "test/e2e/application/shop.yaml");

/** One application of five parts over three clusters, by manifests that know of none; and then everything at random. */
describe("an application over three clusters", function () {
  this.timeout(360_000);
  stopAtFirstFailure();
  let consumer: LabCluster, east: LabCluster, west: LabCluster;
  let stack: PulumiStack;
  const volumes = new VolumeProvisioner();
  const loadBalancers = new LoadBalancers();
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
    loadBalancers.serve(consumer);
    for (const provider of [east, west]) loadBalancers.serve(provider, LOAD_BALANCER_CLASS);
    const edge = { ingressClass: INGRESS_CLASS, loadBalancerClass: LOAD_BALANCER_CLASS };
    await Promise.all([
      stack.up(),
      deployIngressController(consumer, { ingressClass: HOME_INGRESS_CLASS, isDefault: true }),
      ...[east, west].map((provider) => deployIngressController(provider, edge)),
    ]);
    // What the manifests leave to their cluster: it has no disks of its own, so that its default class is for nodes whose clusters have some.
    const offered = { key: "storage.liqo.io/available", values: ["true"] };
    await consumer.client.mergePatch(
      StorageClassResource,
      { name: "liqo" },
      {
        metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
        allowedTopologies: [{ matchLabelExpressions: [offered] }],
      },
    );
  });

  after(async () => {
    if (!KEEP) await downClusters([CONSUMER, EAST, WEST].map(({ name }) => name));
    await Promise.all([volumes.stop(), loadBalancers.stop()]);
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
  /** The address at which a cluster has published something of the shop. */
  const addressOf = async (
    { client, cluster }: LabCluster,
    type: ResourceType<Ingress> | ResourceType<Service>,
    name: string,
  ): Promise<string> => {
    const namespace = client === consumer.client ? SHOP : REMOTE_SHOP;
    return until(`an address of ${type.kind} ${name} in ${cluster.name}`, 60_000, async () => {
      const found = await client.get<Ingress | Service>(type, { name, namespace });
      return found?.status?.loadBalancer?.ingress?.[0]?.ip;
    });
  };

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
    const home = await consumer.client.get(IngressResource, { name: "web", namespace: SHOP });
    expect(home?.spec?.ingressClassName).to.equal(HOME_INGRESS_CLASS);
    for (const [name, { client }] of Object.entries(providers())) {
      const ingress = await until(`the Ingress in ${name}`, 60_000, () =>
        client.get(IngressResource, { name: "web", namespace: REMOTE_SHOP }),
      );
      expect(ingress.spec?.ingressClassName).to.equal(INGRESS_CLASS);
      expect(ingress.spec?.rules).to.deep.equal(home?.spec?.rules);
      const door = await until(`the Service in ${name}`, 60_000, () =>
        client.get(ServiceResource, { name: "door", namespace: REMOTE_SHOP }),
      );
      expect(door.spec).to.include({ type: "LoadBalancer", loadBalancerClass: LOAD_BALANCER_CLASS });
    }
  });

  it("answers from outside through the Ingress and the load balancer of each cluster, from all of them", async () => {
    const web = (await podsOf("web", 3)).map(({ metadata }) => metadata?.name ?? "").sort();
    for (const lab of [consumer, east, west]) {
      const [ingress, door] = await Promise.all([
        addressOf(lab, IngressResource, "web"),
        addressOf(lab, ServiceResource, "door"),
      ]);
      expect(ingress).to.not.equal(door);
      for (const address of [ingress, door]) {
        const hosts = new Set<string>();
        await until(`answers of all web pods, at ${address} of ${lab.cluster.name}`, 60_000, async () => {
          const { status, body } = await request(address, "shop.example");
          expect(status, body).to.equal(200);
          const [host = "", greeting] = body.trim().split(" ");
          expect(greeting).to.equal("welcome");
          hosts.add(host);
          return hosts.size === 3 ? true : undefined;
        });
        expect([...hosts].sort()).to.deep.equal(web);
      }
      expect((await request(ingress, "another.example")).status).to.equal(404);
    }
    expect(loadBalancers.failures).to.deep.equal([]);
  });

  it("tells at home where its providers have published it, beside its own addresses", async () => {
    for (const [type, name] of [
      [IngressResource, "web"],
      [ServiceResource, "door"],
    ] as const) {
      const own = await addressOf(consumer, type, name);
      for (const [provider, lab] of Object.entries(providers())) {
        const address = await addressOf(lab, type, name);
        expect(address).to.not.equal(own);
        await until(`${type.kind} ${name} told to be at ${provider}`, 60_000, async () => {
          const { metadata } = (await consumer.client.get<Ingress | Service>(type, { name, namespace: SHOP })) ?? {};
          return metadata?.annotations?.[publishedAtAnnotation(provider)] === address ? true : undefined;
        });
      }
      const { status } = (await consumer.client.get<Ingress | Service>(type, { name, namespace: SHOP })) ?? {};
      expect(status?.loadBalancer?.ingress?.map(({ ip }) => ip)).to.deep.equal([own]);
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

  it("loses no data to who ends the peering: Pulumi and kubectl are told what is in the way, and nothing changes", async () => {
    const [database] = await podsOf("database", 1);
    const home = database?.spec?.nodeName ?? "";
    const loss = `${home} stays: namespace ${SHOP}: the data of claim data-database-0 is in cluster ${home}`;
    const before = await orders(database!);
    for (const kind of ["virtualnodes.offloading.liqo.io", "resourceslices.authentication.liqo.io"]) {
      const ended = consumer.kubectl(["delete", kind, home, "-n", `liqo-tenant-${home}`]);
      expect(await ended.catch(messageOf)).to.contain(loss);
    }
    const { deployment } = JSON.parse(await stack.exportState()) as { deployment: { resources: { urn: string }[] } };
    const { urn = "" } =
      deployment.resources.find((one) => one.urn.endsWith(`liqo:index:Peering::${home}-peering`)) ?? {};
    const ended = await stack.destroy({ allowFailure: true }, ["--target", urn, "--target-dependents"]);
    expect(ended.code).to.not.equal(0);
    expect(`${ended.stdout}${ended.stderr}`).to.contain(loss);
    expect((await podsOf("database", 1))[0]?.metadata?.uid).to.equal(database?.metadata?.uid);
    expect(await orders(database!)).to.be.at.least(before);
    await stack.preview({ expectNoChanges: true });
  });

  it("goes from all of them, with its data", async () => {
    await consumer.kubectl(["delete", "-n", SHOP, "--wait=false", "-f", MANIFESTS]);
    await consumer.kubectl(["delete", "pvc", "-n", SHOP, "--all", "--timeout=120s"], { timeoutMs: 130_000 });
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

/** Asks what a door leads to, as whoever found it by that name. */
function request(address: string, host: string): Promise<{ status?: number; body: string }> {
  return new Promise((resolve, reject) => {
    const path = "/cgi-bin/shop";
    const asked = http.get({ host: address, path, headers: { host }, agent: false, timeout: 10_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("error", reject).on("end", () => resolve({ status: response.statusCode, body }));
    });
    asked.on("timeout", () => asked.destroy(new Error(`${address}: no answer within 10 s`))).on("error", reject);
  });
}
