import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import { DataKeys, Labels, Names } from "../../../agent/api/index.js";
import {
  ConfigMapResource,
  DeploymentResource,
  NamespaceResource,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { buildProvider } from "../../../scripts/build.js";
import { pulumiFolder } from "../../clusters/index.js";
import { listEverything, compareListings } from "../../support/listing.js";
import { PulumiStack } from "../../support/pulumi.js";
import { startApiServer, type ApiServer } from "../support/api-server.js";

/** Real API servers and the real CLI: what a person who gets something wrong reads, and that nothing is touched by then. */
describe("provider: bad input", function () {
  this.timeout(180_000);

  let consumer: ApiServer;
  let provider: ApiServer;
  let folder: string;
  let pluginFolder: string;
  let binFolder: string;

  before(async function () {
    this.timeout(15 * 60_000);
    binFolder = await pulumiFolder();
    pluginFolder = await buildProvider();
    [consumer, provider] = await Promise.all([startApiServer({ name: "west" }), startApiServer({ name: "east" })]);
    folder = await mkdtemp(path.join(os.tmpdir(), "pulumi-liqo-bad-input-"));
  });

  after(async () => {
    await Promise.all([consumer?.stop(), provider?.stop()]);
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const sides = (): Record<"consumer" | "provider", object> => ({
    consumer: { kubeconfig: consumer.kubeconfigPath },
    provider: { kubeconfig: provider.kubeconfigPath },
  });

  /** Runs `pulumi up` of one resource, which must fail, and returns what it printed. */
  async function failingUp(type: string, properties: object): Promise<string> {
    const before = await Promise.all([listEverything(consumer.client), listEverything(provider.client)]);
    const project = await mkdtemp(path.join(folder, "project-"));
    const program = {
      name: "bad-input",
      runtime: "yaml",
      plugins: { providers: [{ name: "liqo", path: pluginFolder }] },
      resources: { subject: { type, properties } },
    };
    await writeFile(path.join(project, "Pulumi.yaml"), stringify(program));
    const stack = new PulumiStack({ project, stateFolder: project, stack: "test", binFolder, config: {} });
    await stack.init();
    const { stdout, stderr, code } = await stack.up({ allowFailure: true });
    expect(code, stdout).to.not.equal(0);
    const after = await Promise.all([listEverything(consumer.client), listEverything(provider.client)]);
    before.forEach((listing, side) => {
      expect(compareListings(listing, after[side] ?? new Set())).to.deep.equal({ added: [], removed: [] });
    });
    expect(stdout + stderr).to.not.match(/\n\s+at .*\.(ts|js|cjs):\d+/, "a stack trace");
    return stdout + stderr;
  }

  it("names the contexts that there are when one does not exist", async () => {
    const text = await failingUp("liqo:NetworkLink", {
      ...sides(),
      consumer: { kubeconfig: consumer.kubeconfigPath, context: "nowhere" },
    });
    expect(text).to.contain("consumer.context").and.to.contain("nowhere");
  });

  it("says which kubeconfig cannot be read", async () => {
    const missing = path.join(folder, "missing-kubeconfig");
    const text = await failingUp("liqo:NetworkLink", { ...sides(), provider: { kubeconfig: missing } });
    expect(text).to.contain("provider.kubeconfig").and.to.contain(missing);
  });

  it("gives up on an API server that does not answer, naming cluster and address", async () => {
    const unreachable = path.join(folder, "unreachable");
    await writeFile(unreachable, provider.kubeconfig.replace(/server: .*/, "server: https://127.0.0.1:9"));
    const started = Date.now();
    const text = await failingUp("liqo:NetworkLink", { ...sides(), provider: { kubeconfig: unreachable } });
    expect(text).to.contain("https://127.0.0.1:9").and.to.contain("east").and.to.contain("provider");
    expect(Date.now() - started).to.be.lessThan(60_000);
  });

  it("refuses malformed ranges and quantities, all at once, with their paths", async () => {
    const agent = await failingUp("liqo:Agent", {
      cluster: { kubeconfig: consumer.kubeconfigPath },
      clusterId: "Not_An_ID",
      podCIDRs: ["10.0.0.0/33"],
      serviceCIDR: "ten",
    });
    expect(agent).to.contain("clusterId").and.to.contain("podCIDRs[0]").and.to.contain("serviceCIDR");
    const slice = await failingUp("liqo:ResourceSlice", { ...sides(), resources: { cpu: "many", memory: "8Gigs" } });
    expect(slice).to.contain("resources").and.to.contain("cpu").and.to.contain("memory");
    const link = await failingUp("liqo:NetworkLink", { ...sides(), mtu: 100, gatewayServer: { port: 70_000 } });
    expect(link).to.contain("mtu").and.to.contain("gatewayServer.port");
  });

  it("refuses in-band peering without a network, and two proxies at once, each at its property", async () => {
    const alone = await failingUp("liqo:Peering", { ...sides(), inBand: true, networkingDisabled: true });
    expect(alone).to.contain("inBand").and.to.contain("networkingDisabled leaves out");
    const twice = await failingUp("liqo:Peering", { ...sides(), inBand: true, proxyURL: "http://proxy.example:8118" });
    expect(twice).to.contain("proxyURL").and.to.contain("together with inBand");
    const wrong = await failingUp("liqo:Authentication", { ...sides(), proxyURL: "proxy.example:8118" });
    expect(wrong).to.contain("proxyURL").and.to.contain("not the URL of a proxy");
  });

  it("says that an agent is missing on one side, and what the other has", async () => {
    await fakeAgent(consumer.client, "consumer", "0.1.0");
    const text = await failingUp("liqo:NetworkLink", sides());
    expect(text).to.contain("provider").and.to.contain("no agent").and.to.contain("0.1.0");
  });

  it("reports a failing child of a Peering once, with its own reason and no noise of the connection", async () => {
    const text = await failingUp("liqo:Peering", sides());
    expect(text).to.contain("no agent");
    expect(text, text).to.not.match(/client connection is closing|UNAVAILABLE|unhandled|Canceled/i);
  });

  it("refuses agents of different minor versions, naming both", async () => {
    await fakeAgent(consumer.client, "consumer", "0.1.0");
    await fakeAgent(provider.client, "provider", "0.2.0");
    const text = await failingUp("liqo:NetworkLink", sides());
    expect(text).to.contain("0.1.0").and.to.contain("0.2.0");
  });

  it("refuses two clusters of one ID", async () => {
    await fakeAgent(consumer.client, "same", "0.1.0");
    await fakeAgent(provider.client, "same", "0.1.0");
    const text = await failingUp("liqo:NetworkLink", sides());
    expect(text).to.contain("cluster ID").and.to.contain("same");
  });
});

/** What the provider goes by when it looks for an agent: its cluster ID and its controller's Deployment. */
async function fakeAgent(client: KubeClient, clusterId: string, version: string): Promise<void> {
  const manager = { fieldManager: "test" };
  const namespace = Names.namespace;
  await client.apply(NamespaceResource, { metadata: { name: namespace } }, manager);
  await client.apply(
    ConfigMapResource,
    {
      metadata: { name: "liqo-clusterid-configmap", namespace, labels: { [Labels.appName]: "clusterid-configmap" } },
      data: { [DataKeys.clusterID]: clusterId },
    },
    manager,
  );
  const labels = { [Labels.appName]: "controller-manager" };
  const image = `localhost/pulumi-liqo/agent:${version}`;
  await client.apply(
    DeploymentResource,
    {
      metadata: { name: "liqo-controller-manager", namespace, labels: { ...labels, [Labels.appVersion]: version } },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "controller-manager", image, args: ["controller"] }] },
        },
      },
    },
    manager,
  );
}
