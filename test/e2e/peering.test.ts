import path from "node:path";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import { GatewayClientResource, ConnectionResource, TenantResource } from "../../agent/api/index.js";
import { DeploymentResource, NamespaceResource, NodeResource, PodResource } from "../../agent/runtime/index.js";
import type { Topology } from "../../provider/functions/topology/schema.js";
import { downClusters } from "../clusters/index.js";
import { showPeering, showTraffic } from "../demo/checks.js";
import { NAMESPACE, demoStack, type Demo } from "../demo/environment.js";
import { Steps } from "../demo/steps.js";
import { prepareAuditedLab } from "../support/audit.js";
import { changesTold, type LogLine } from "../support/agent-logs.js";
import { interrupt } from "../support/interrupt.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { compareListings, listEverything } from "../support/listing.js";
import { PulumiStack } from "../support/pulumi.js";
import { runCommand } from "../support/terminal.js";
import { waitFor } from "../support/wait.js";
import { deployWeb, isReady, waitForPods } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

/** Equal ranges on both sides: every packet between pods must be remapped twice. */
const CLUSTERS = [
  { name: "e2e-consumer", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
  { name: "e2e-provider", podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" },
];

/** A progress row of a resource that is being made: both clusters have been written to by then. */
const MIDWAY = /\+ +liqo:index:NetworkLink \S+ creating \(\d+s\) \S/;

/** One life of a peering, in order: each test builds on the one before it. */
describe("peering two clusters with the quick start", function () {
  this.timeout(360_000);
  stopAtFirstFailure();

  let demo: Demo;
  let stack: PulumiStack;
  let initial: { consumer: Set<string>; provider: Set<string> };
  let pods: Pod[];
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-e2e-"));
  const steps = new Steps((line) => console.log(`      ${line}`));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    const [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    stack = demoStack(lab, consumer, provider, { stack: "e2e", stateFolder });
    demo = { lab, consumer, provider, stack };
    initial = { consumer: await listEverything(consumer.client), provider: await listEverything(provider.client) };
    await consumer.client.apply(NamespaceResource, { metadata: { name: NAMESPACE } }, { fieldManager: "test" });
    await stack.init();
  });

  after(async () => {
    await stack?.remove();
    await downClusters(CLUSTERS.map(({ name }) => name));
    rmSync(stateFolder, { recursive: true, force: true });
  });

  it("survives kill -9 of the CLI in the middle of up", async () => {
    const { signal } = await interrupt(stack, "up", MIDWAY, "SIGKILL");
    expect(signal).to.equal("SIGKILL");
    await stack.cancel();
  });

  it("ends within 3 s of Ctrl-C, with the state saved", async () => {
    const { milliseconds } = await interrupt(stack, "up", MIDWAY, "SIGINT");
    expect(milliseconds).to.be.lessThan(3_000);
    expect(JSON.parse(await stack.exportState())).to.have.nested.property("deployment.resources");
  });

  it("converges on the next up, with one of everything", async () => {
    await stack.up();
    const { consumer, provider } = demo;
    expect((await consumer.client.list(GatewayClientResource)).items).to.have.length(1);
    expect((await provider.client.list(TenantResource)).items).to.have.length(1);
    for (const side of [consumer, provider]) {
      const connections = (await side.client.list(ConnectionResource)).items;
      expect(connections.map(({ status }) => status?.value)).to.deep.equal(["Connected"]);
    }
  });

  it("offloads pods to the virtual node, visible as a person would look", async () => {
    const node = String((await stack.outputs())["virtualNodeName"]);
    pods = await deployWeb(demo.consumer, NAMESPACE, { replicas: 3, node });
    await showPeering(demo, steps, pods);
  });

  it("carries traffic both ways, encrypted on the link; logs and exec work", async () => {
    await showTraffic(demo, steps, pods);
  });

  it("tells of both by its functions", async () => {
    const { lab, consumer } = demo;
    const info = new PulumiStack({
      project: path.join(REPOSITORY, "test/e2e/projects/info"),
      stateFolder,
      stack: "e2e",
      binFolder: lab.pulumiBin,
      config: { kubeconfig: consumer.cluster.kubeconfigPath },
    });
    await info.init();
    try {
      await info.up();
      const outputs = await info.outputs();
      expect(outputs).to.have.nested.property("cluster.peerings.peers[0]").that.includes({
        clusterID: "provider",
        role: "Provider",
        networkingStatus: "Healthy",
        authenticationStatus: "Healthy",
        offloadingStatus: "Healthy",
      });
      expect(outputs).to.have.nested.property("peering.peers.provider.network").that.includes({ status: "Healthy" });
      expect(outputs).to.have.nested.property("peering.peers.provider.offloading.virtualNodes[0].status", "Healthy");
    } finally {
      await info.remove();
    }
  });

  it("shows both on the command line, and as a picture", async () => {
    const [consumer, provider] = [demo.consumer, demo.provider].map(({ cluster }) => cluster.kubeconfigPath);
    const status = await runCommand(["info", "provider", "--kubeconfig", consumer ?? "", "--get", "network.status"]);
    expect(status).to.deep.equal({ code: 0, out: "Healthy\n", error: "" });
    const both = ["--kubeconfig", consumer ?? "", "--kubeconfig", provider ?? ""];
    const { out } = await runCommand(["topology", ...both, "-o", "json"]);
    const { links, peerings } = JSON.parse(out) as Topology;
    expect(links[0]).to.deep.include({ clusters: ["consumer", "provider"], status: "Healthy", server: "provider" });
    expect(links[0]?.roundTripMilliseconds).to.be.greaterThan(0);
    // Three pods of the web service.
    expect(peerings[0]?.virtualNodes[0]).to.have.nested.property("used.pods", "3");
    expect((await runCommand(["topology", ...both, "-o", "svg"])).out).to.contain("pods 3/");
  });

  const told = (): Promise<LogLine[]> => changesTold(demo.consumer, ["liqo", "liqo-tenant-provider"]);

  it("tells each change in its logs, in one line", async () => {
    const lines = await told();
    const made = lines.filter(({ resource, msg }) => resource === "shadowpods.offloading.liqo.io" && msg === "created");
    expect(made.map(({ name }) => name).sort()).to.deep.equal(pods.map(({ metadata }) => metadata?.name).sort());
    const gateways = lines.filter(({ resource, namespace }) => resource === "deployments.apps" && namespace !== "liqo");
    expect(gateways.map(({ role }) => role)).to.include("controller");
    const onNodes = lines.filter(({ program, change }) => program && change).map(({ role }) => role);
    expect(onNodes).to.include("gateway").and.to.include("fabric");
  });

  it("has nothing to change on a second up, no drift on refresh, and nothing to log meanwhile", async () => {
    const before = await told();
    await stack.preview({ expectNoChanges: true });
    await stack.up();
    await stack.refresh({ expectNoChanges: true });
    expect(await told()).to.deep.equal(before);
  });

  it("keeps kubeconfigs and keys out of the state", async () => {
    const state = await stack.exportState();
    for (const side of [demo.consumer, demo.provider]) {
      const kubeconfig = readFileSync(side.cluster.kubeconfigPath, "utf8");
      const key = /client-key-data: (\S{40})/.exec(kubeconfig)?.[1];
      if (key) expect(state).to.not.contain(key);
    }
    expect(state).to.not.contain("PRIVATE KEY");
  });

  it("updates the slice in place, and the node's allocatable follows within 5 s", async () => {
    await stack.setConfig("cpu", "3");
    const { stdout } = await stack.preview();
    expect(stdout)
      .to.match(/~ liqo:index:ResourceSlice|~ .*ResourceSlice/)
      .and.to.not.contain("replace");
    const update = stack.up();
    await update;
    await waitFor(
      demo.consumer.client,
      NodeResource,
      { labelSelector: "liqo.io/type=virtual-node", timeoutMs: 5_000, what: "allocatable cpu 3" },
      (nodes) => nodes[0]?.status?.allocatable?.["cpu"] === "3",
    );
  });

  it("repairs a gateway client that was deleted by hand", async () => {
    const [client] = (await demo.consumer.client.list(GatewayClientResource)).items;
    const { name = "", namespace } = client?.metadata ?? {};
    await demo.consumer.kubectl(["delete", "gatewayclient", name, "-n", namespace ?? ""]);
    await stack.refresh();
    await stack.up();
    await waitFor(
      demo.consumer.client,
      ConnectionResource,
      {
        timeoutMs: 60_000,
        what: "the connection back",
        describe: (all) => all.map(({ status }) => status?.value).join(),
      },
      (all) => all.length === 1 && all[0]?.status?.value === "Connected",
    );
    await showTraffic(demo, steps, pods);
  });

  it("destroys everything, and the pods are rescheduled locally", async () => {
    await stack.destroy();
    await waitForPods(demo.consumer, NAMESPACE, "3 web pods Ready on the consumer's own node", (all) => {
      const web = all.filter((pod) => pod.metadata?.labels?.["app"] === "web" && isReady(pod));
      return web.length === 3 && web.every((pod) => pod.spec?.nodeName?.startsWith("e2e-consumer"));
    });
  });

  it("leaves both clusters as they were, compared by a complete listing", async () => {
    const { consumer, provider } = demo;
    await consumer.client.delete(DeploymentResource, { name: "web", namespace: NAMESPACE });
    await consumer.client.delete(NamespaceResource, { name: NAMESPACE });
    await waitFor(consumer.client, NamespaceResource, { timeoutMs: 60_000, what: "the namespace gone" }, (all) =>
      all.every(({ metadata }) => metadata?.name !== NAMESPACE),
    );
    await waitFor(
      consumer.client,
      PodResource,
      { namespace: NAMESPACE, timeoutMs: 60_000, what: "the pods gone" },
      (all) => all.length === 0,
    );
    const after = { consumer: await listEverything(consumer.client), provider: await listEverything(provider.client) };
    expect(compareListings(initial.consumer, after.consumer)).to.deep.equal({ added: [], removed: [] });
    expect(compareListings(initial.provider, after.provider)).to.deep.equal({ added: [], removed: [] });
  });
});
