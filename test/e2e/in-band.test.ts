import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  ForeignClusterResource,
  GatewayServerResource,
  IPResource,
  Labels,
  type ForeignCluster,
} from "../../agent/api/index.js";
import {
  DeploymentResource,
  NamespaceResource,
  NodeResource,
  PodResource,
  findCondition,
} from "../../agent/runtime/index.js";
import { downClusters } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { prepareAuditedLab } from "../support/audit.js";
import { exec } from "../support/exec.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { compareListings, listEverything } from "../support/listing.js";
import { offloadNamespace } from "../support/offload-namespace.js";
import { throughPortForward } from "../support/port-forward.js";
import { PulumiStack } from "../support/pulumi.js";
import { expectTraffic, runServers } from "../support/traffic.js";
import { waitFor } from "../support/wait.js";
import { WEB_PORT, deployWeb, isReady, waitForPods } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

/** Equal ranges, so that the proxy's address is remapped; the provider's proxy and gateway may be on different nodes. */
const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CLUSTERS = [
  { name: "in-band-a", ...RANGES },
  { name: "in-band-b", nodes: 2, ...RANGES },
];
const NAMESPACE = "in-band";
/** On the provider, for the reverse direction. */
const BACK = "in-band-back";
const API_PORT = 6443;
const BLOCK = "in_band_test";
const GATEWAYS = "networking.liqo.io/component=gateway";
const PROXIES = "app.kubernetes.io/name=proxy";
const TO_API = `tcp dport ${API_PORT}`;
/** Whatever is not an answer. */
const BEGUN = "ct direction original";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** One life of a peering, in order: each test builds on the one before it. */
describe("in-band peering with a provider whose API server is out of reach", function () {
  this.timeout(360_000);
  stopAtFirstFailure();

  let consumer: LabCluster;
  let provider: LabCluster;
  let stack: PulumiStack;
  let initial: { consumer: Set<string>; provider: Set<string> };
  let pods: Pod[];
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-in-band-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    await Promise.all([consumer, provider].map(runServers));
    initial = { consumer: await listEverything(consumer.client), provider: await listEverything(provider.client) };
    await consumer.client.apply(NamespaceResource, { metadata: { name: NAMESPACE } }, { fieldManager: "test" });
    stack = new PulumiStack({
      project: path.join(REPOSITORY, "test/e2e/projects/in-band"),
      stateFolder,
      stack: "in-band",
      binFolder: lab.pulumiBin,
      config: {
        consumerKubeconfig: consumer.cluster.kubeconfigPath,
        providerKubeconfig: provider.cluster.kubeconfigPath,
        image: lab.agentImage,
        namespace: NAMESPACE,
      },
    });
    await stack.init();
    await block(consumer, provider);
  });

  after(async () => {
    if (consumer) await unblock(consumer);
    if (provider) await unblock(provider);
    await stack?.remove();
    rmSync(stateFolder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  function foreignCluster(what: string, predicate: (object: ForeignCluster) => boolean): Promise<ForeignCluster> {
    const describe = (all: ForeignCluster[]) => JSON.stringify(all.map(({ status }) => status));
    return waitFor(consumer.client, ForeignClusterResource, { timeoutMs: 90_000, what, describe }, ([object]) =>
      object && predicate(object) ? object : undefined,
    );
  }

  const isEstablished = ({ status }: ForeignCluster): boolean =>
    findCondition(status?.conditions, "APIServerStatus")?.status === "Established";

  /** Logs, commands and forwarded ports of an offloaded pod, by the cluster that has offloaded it. */
  async function streams(lab = consumer, pod = pods[0]): Promise<void> {
    const { name = "", namespace = "" } = pod?.metadata ?? {};
    expect(await lab.kubectl(["logs", "-n", namespace, name], { timeoutMs: 60_000 })).to.contain("serving on");
    // Standard input, its end, and the exit code all have to come through.
    const echo = ["exec", "-i", "-n", namespace, name, "--"];
    expect(await lab.kubectl([...echo, "cat"], { input: "there and back", timeoutMs: 60_000 })).to.equal(
      "there and back",
    );
    const forwarded = await throughPortForward(lab, { namespace, name, port: WEB_PORT }, async (port) =>
      (await fetch(`http://127.0.0.1:${port}/index.html`)).text(),
    );
    expect(forwarded.trim()).to.equal(`served by ${name}`);
    const failed = await lab
      .kubectl([...echo, "sh", "-c", "exit 7"], { timeoutMs: 60_000 })
      .catch((error: unknown) => String(error));
    expect(failed).to.contain("exit code 7");
  }

  async function scaleWeb(replicas: number): Promise<void> {
    await consumer.client.mergePatch(DeploymentResource, { name: "web", namespace: NAMESPACE }, { spec: { replicas } });
    pods = await waitForPods(consumer, NAMESPACE, `${replicas} offloaded pods Ready`, (all) => {
      const web = all.filter((pod) => pod.metadata?.labels?.["app"] === "web" && isReady(pod));
      return web.length === replicas && web;
    });
  }

  it("is refused at preview where the network is left out, with the property's name", async () => {
    await stack.setConfig("networkingDisabled", "true");
    const { stdout, code } = await stack.pulumi(["preview", "--stack", "in-band"], { allowFailure: true });
    expect(code).to.not.equal(0);
    expect(stdout).to.match(/inBand.*needs the network between the clusters/s);
    await stack.setConfig("networkingDisabled", "false");
  });

  it("comes up through the tunnel alone", async () => {
    const address = provider.cluster.nodes[0]?.address ?? "";
    const direct = await onNode(consumer, 0, "timeout", ["2", "bash", "-c", `exec 3<>/dev/tcp/${address}/${API_PORT}`]);
    expect(direct.code, "the block works").to.not.equal(0);
    await unblock(consumer);
    await block(consumer, provider);
    await stack.up();
    const foreign = await foreignCluster("the provider's API server established", isEstablished);
    expect(foreign.status?.foreignProxyUrl).to.match(/^http:\/\/10\.\d+\.\d+\.\d+:8118$/);
    // Remapped: the provider's own external range is the consumer's, too.
    const [lent] = (await provider.client.list(IPResource)).items.filter(
      ({ metadata }) => metadata.labels?.[Labels.ipType] === "api-server-proxy",
    );
    expect(foreign.status?.foreignProxyUrl).to.not.contain(`//${lent?.status?.ip}:`);
    await waitFor(
      consumer.client,
      NodeResource,
      { labelSelector: "liqo.io/type=virtual-node", timeoutMs: 60_000, what: "a Ready virtual node" },
      (nodes) => nodes[0]?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
    );
    await expectTraffic(consumer, provider);
    expect(await attempts(consumer), "packets sent past the tunnel").to.equal(0);
  });

  it("offloads pods, shows their logs, and runs commands in them", async () => {
    const node = String((await stack.outputs())["virtualNodeName"]);
    pods = await deployWeb(consumer, NAMESPACE, { replicas: 2, node });
    await streams();
    expect(await attempts(consumer)).to.equal(0);
  });

  it("has nothing to change on a second up, and no drift on refresh", async () => {
    await stack.preview({ expectNoChanges: true });
    await stack.refresh({ expectNoChanges: true });
  });

  it("leads both ways at once, each API server out of the other's reach", async () => {
    await block(provider, consumer);
    await stack.setConfig("bidirectional", "true");
    await stack.up();
    const node = String((await stack.outputs())["reverseVirtualNodeName"]);
    await offloadNamespace(provider, BACK);
    const [pod] = await deployWeb(provider, BACK, { replicas: 1, node });
    await streams(provider, pod);
    await streams();
    expect([await attempts(consumer), await attempts(provider)]).to.deep.equal([0, 0]);
    await provider.client.delete(NamespaceResource, { name: BACK });
    await namespaceGone(provider, BACK);
    await stack.setConfig("bidirectional", "false");
    await stack.up();
    await streams();
    expect([await attempts(consumer), await attempts(provider)]).to.deep.equal([0, 0]);
    await unblock(provider);
  });

  it("recovers by itself after both gateways and the proxy were killed", async () => {
    for (const lab of [consumer, provider]) await endPods(lab, [GATEWAYS, PROXIES]);
    const started = Date.now();
    await scaleWeb(3);
    console.log(`      a new pod was Ready ${((Date.now() - started) / 1000).toFixed(1)} s after the kill`);
    await streams();
    expect(await attempts(consumer)).to.equal(0);
  });

  it("changes to direct access and back in place", async () => {
    await unblock(consumer);
    await stack.setConfig("inBand", "false");
    const { stdout } = await stack.preview();
    expect(stdout).to.match(/~ liqo:index:Authentication/);
    expect(stdout).to.not.match(/[+-]{2} ?liqo:index:/);
    await stack.up();
    await foreignCluster("direct access", (object) => !object.status?.foreignProxyUrl && isEstablished(object));
    await streams();
    await stack.setConfig("inBand", "true");
    await stack.up();
    await foreignCluster("access by the proxy", (object) => Boolean(object.status?.foreignProxyUrl));
    await waitFor(
      consumer.client,
      ForeignClusterResource,
      { timeoutMs: 60_000, what: "an established API server" },
      ([object]) => object && isEstablished(object),
    );
    await directConnectionsEnd(consumer, provider);
    await block(consumer, provider);
    await streams();
  });

  it("needs no more between the clusters than one UDP port of the provider", async () => {
    const [server] = (await provider.client.list(GatewayServerResource)).items;
    await unblock(consumer);
    await block(consumer, provider, { what: BEGUN, but: `udp dport ${server?.status?.endpoint?.port}` });
    await block(provider, consumer, { what: BEGUN });
    // What connections there were is forgotten.
    await endPods(consumer, [GATEWAYS]);
    await scaleWeb(4);
    await streams();
    await expectTraffic(consumer, provider);
    expect([await attempts(consumer), await attempts(provider)]).to.deep.equal([0, 0]);
  });

  it("is taken apart through the tunnel, and leaves both clusters as they were", async () => {
    await stack.destroy();
    await consumer.client.delete(DeploymentResource, { name: "web", namespace: NAMESPACE });
    await consumer.client.delete(NamespaceResource, { name: NAMESPACE });
    await namespaceGone(consumer, NAMESPACE);
    const after = { consumer: await listEverything(consumer.client), provider: await listEverything(provider.client) };
    expect(compareListings(initial.consumer, after.consumer)).to.deep.equal({ added: [], removed: [] });
    expect(compareListings(initial.provider, after.provider)).to.deep.equal({ added: [], removed: [] });
  });
});

/** Runs a program in the network of a cluster's node, where its pods' traffic passes too. */
function onNode({ cluster }: LabCluster, index: number, program: string, args: string[], input?: string) {
  const netns = cluster.nodes[index]?.netns ?? "";
  return exec("nsenter", [`--net=/run/netns/${path.basename(netns)}`, program, ...args], { input, allowFailure: true });
}

async function endPods({ client }: LabCluster, selectors: readonly string[]): Promise<void> {
  for (const labelSelector of selectors) {
    for (const { metadata } of (await client.list(PodResource, { labelSelector })).items)
      await client.delete(PodResource, { name: metadata?.name ?? "", namespace: metadata?.namespace });
  }
}

/** Nodes and pods of a cluster cannot reach the other's nodes any more, by default their API server; what tries to is counted. */
async function block(from: LabCluster, to: LabCluster, { what = TO_API, but = "" } = {}): Promise<void> {
  const addressed = `ip daddr { ${to.cluster.nodes.map(({ address }) => address).join(", ")} }`;
  const rules = [
    ...(but ? [`${addressed} ${but} accept`] : []),
    // The kernel's word that a packet of the tunnel came to a gateway which has just ended: nobody needs it.
    `${addressed} meta l4proto icmp ct state related drop`,
    `${addressed} ${what} counter name tried drop`,
  ];
  // Once connections are told apart, and before Services' addresses are replaced.
  const chain = (hook: string) => `chain ${hook} { type filter hook ${hook} priority -150; ${rules.join("; ")}; }\n`;
  const table = `table inet ${BLOCK} {\ncounter tried { }\n${chain("output")}${chain("forward")}}\n`;
  for (const index of from.cluster.nodes.keys()) {
    const { code, stderr } = await onNode(from, index, "nft", ["-f", "-"], table);
    expect(code, stderr).to.equal(0);
  }
}

async function unblock(from: LabCluster): Promise<void> {
  for (const index of from.cluster.nodes.keys()) await onNode(from, index, "nft", ["delete", "table", "inet", BLOCK]);
}

/** The virtual node follows its kubeconfig: until the last connection by the one before has ended, whose end would be counted as an attempt. */
async function directConnectionsEnd(from: LabCluster, to: LabCluster): Promise<void> {
  const toApi = ["--proto", "tcp", "--dport", String(API_PORT), "--state", "ESTABLISHED"];
  const standing = async (): Promise<string[]> => {
    const lists = [...from.cluster.nodes.keys()].flatMap((index) =>
      to.cluster.nodes.map(async ({ address }) => {
        const { stdout, stderr, code } = await onNode(from, index, "conntrack", ["-L", "--dst", address, ...toApi]);
        expect(code, stderr).to.equal(0);
        return stdout.trim();
      }),
    );
    return (await Promise.all(lists)).filter((list) => list !== "");
  };
  await until("the end of direct connections to the provider's API server", 90_000, async () =>
    (await standing()).length === 0 ? true : undefined,
  );
}

/** Packets that a cluster has sent past the tunnel. */
async function attempts(from: LabCluster): Promise<number> {
  let packets = 0;
  for (const index of from.cluster.nodes.keys()) {
    const { stdout } = await onNode(from, index, "nft", ["list", "counter", "inet", BLOCK, "tried"]);
    packets += Number(/packets (\d+)/.exec(stdout)?.[1]);
  }
  return packets;
}

function namespaceGone({ client }: LabCluster, name: string): Promise<true> {
  return waitFor(client, NamespaceResource, { timeoutMs: 120_000, what: `namespace ${name} gone` }, (all) =>
    all.every(({ metadata }) => metadata?.name !== name) ? (true as const) : undefined,
  );
}
