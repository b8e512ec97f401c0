import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Pod } from "kubernetes-types/core/v1";
import {
  Annotations,
  ConfigurationResource,
  ConnectionResource,
  FirewallConfigurationResource,
  FullSizePackets,
  GatewayServerResource,
  Labels,
  PublicKeyResource,
  RouteConfigurationResource,
  RuleCategory,
  type Connection,
  type FirewallConfiguration,
  type GatewayServer,
  type HostCondition,
  type RouteConfiguration,
} from "../../agent/api/index.js";
import { newKeyPair } from "../../agent/controller/network/gateways/key-secret.js";
import { buildAgentImage } from "../../agent/image/build.js";
import {
  DeploymentResource,
  PodResource,
  SecretResource,
  findCondition,
  type KubeObject,
  type ResourceType,
} from "../../agent/runtime/index.js";
import { downClusters, loadImage } from "../clusters/index.js";
import { allRun } from "../support/agent.js";
import { prepareAuditedLab } from "../support/audit.js";
import { exec } from "../support/exec.js";
import { activeGateway, drainGatewayNode } from "../support/gateway-pods.js";
import { REPOSITORY, type LabCluster } from "../support/lab.js";
import { PulumiStack } from "../support/pulumi.js";
import { expectTraffic, runServers } from "../support/traffic.js";
import { waitFor } from "../support/wait.js";
import { WEB_PORT, isReady, localPod, waitForPods } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

/** Equal ranges, so that every packet is translated; the consumer's gateway can move to another node. */
const RANGES = { podCIDR: "10.200.0.0/16", serviceCIDR: "10.90.0.0/16" };
const CLUSTERS = [
  { name: "gateway-a", nodes: 2, ...RANGES },
  { name: "gateway-b", ...RANGES },
];
const NODE_PORT = 30_777;
/** What the server listens at after a change. */
const SERVER_PORT = 51_999;
/** What the web pods have to be fetched: none takes room. */
const FILES = { big: 2 ** 30, medium: 2 ** 27 };
/** Goals, printed beside what was measured: the machine may be busy with other things. */
const GOALS_MS = { withStandby: 3_000, withoutStandby: 10_000 };
const REPORT_MS = 30_000;
/** Where the server is reached by a translator, as the test's project has it. */
const TRANSLATED = { address: "198.51.100.7", port: 40_777 };
/** Of nftables, while a test has it there. */
const TABLE = "gateway_test";
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;
const GATEWAY = { labelSelector: { [Labels.networkingComponent]: "gateway" } };

/** One life of a link under all that befalls its gateways, in order: each test leaves it working for the next. */
describe("the gateways of a link", function () {
  this.timeout(360_000);
  stopAtFirstFailure();

  let consumer: LabCluster;
  let provider: LabCluster;
  let stack: PulumiStack;
  let images: { first: string; next: string };
  /** How the consumer calls the provider's pod. */
  let remote: string;
  const stateFolder = mkdtempSync(path.join(os.tmpdir(), "pulumi-liqo-gateway-"));

  before(async function () {
    this.timeout(25 * 60_000);
    const lab = await prepareAuditedLab(CLUSTERS);
    [consumer, provider] = lab.clusters as [LabCluster, LabCluster];
    stack = new PulumiStack({
      project: path.join(REPOSITORY, "test/e2e/projects/gateway"),
      stateFolder,
      stack: "gateway",
      binFolder: lab.pulumiBin,
      config: {
        consumerKubeconfig: consumer.cluster.kubeconfigPath,
        providerKubeconfig: provider.cluster.kubeconfigPath,
        image: lab.agentImage,
      },
    });
    const next = await buildAgentImage({ version: "next" });
    await loadImage(
      next.archive,
      lab.clusters.map(({ cluster }) => cluster),
    );
    images = { first: lab.agentImage, next: next.ref };
    await stack.init();
    await Promise.all([runWeb(consumer), runWeb(provider), runServers(consumer), runServers(provider)]);
  });

  after(async () => {
    await stack?.remove();
    rmSync(stateFolder, { recursive: true, force: true });
    if (!KEEP) await downClusters(CLUSTERS.map(({ name }) => name));
  });

  it("tell how the tunnel is made, that full-size packets pass, and each other where the server is", async () => {
    await stack.up();
    for (const lab of [consumer, provider]) {
      const { status } = await connection(lab, isProbed);
      expect(status).to.include({ value: "Connected", fullSizePackets: "Pass", mtu: 1340 });
      expect(status?.implementation).to.be.oneOf(["kernel", "userspace"]);
      expect(status?.latency?.value).to.match(/^\d+(ms|μs)$/);
    }
    const { status: server } = await theServer(provider);
    expect(server?.endpoint?.addresses).to.have.length(provider.cluster.nodes.length);
    await connection(consumer, ({ metadata }) =>
      Boolean(
        metadata.annotations?.[Annotations.serverEndpoint]?.includes(JSON.stringify(server?.endpoint?.addresses)),
      ),
    );
    const { items } = await consumer.client.list(ConfigurationResource);
    const range = items[0]?.status?.remote?.cidr?.pod?.[0] ?? "";
    const pod = await provider.client.get(PodResource, { name: "web", namespace: "default" });
    const address = pod?.status?.podIP ?? "";
    remote = [...range.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
    await untilTraffic();
  });

  it("give way to a standby when the client's process is killed, and the server's; a transfer under way completes", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    await Promise.all([consumer, provider].map((lab) => replicasReady(lab, 2)));
    const transfer = await slowDownload("big");
    await transfer.begun;
    for (const [side, lab] of Object.entries({ client: consumer, server: provider })) {
      process.kill(processOf(await activeGateway(lab)), "SIGKILL");
      const milliseconds = await untilTraffic();
      console.log(
        `      ${side} killed: with a standby, traffic flows again after ${milliseconds} ms (goal: ${GOALS_MS.withStandby})`,
      );
    }
    expect(await transfer.end()).to.equal(FILES.big);
  });

  it("move when their node is drained", async () => {
    const node = await drainGatewayNode(consumer);
    console.log(`      node drained: traffic flows again after ${await untilTraffic()} ms`);
    expect((await activeGateway(consumer)).spec?.nodeName).to.not.equal(node);
    await consumer.kubectl(["uncordon", node]);
  });

  it("take new keys in place under load, by the trigger and by hand", async () => {
    const before = await publicKeyAt(consumer);
    const transfer = download();
    await transfer.begun;
    await stack.setConfig("keys", "second");
    await stack.up();
    expect(await publicKeyAt(consumer)).to.not.equal(before);
    const keys = newKeyPair();
    await setSecret(provider, keys);
    await setPublicKey(consumer, keys.publicKey);
    const milliseconds = await untilTraffic();
    console.log(`      keys replaced by hand: traffic flows again after ${milliseconds} ms`);
    expect(milliseconds).to.be.lessThan(5_000);
    expect(await transfer.bytes).to.equal(FILES.big);
  });

  it("name a wrong key; a refresh finds it, and the next up repairs it", async () => {
    const right = await publicKeyAt(provider);
    await setPublicKey(provider, newKeyPair().publicKey);
    await message(provider, /keys do not match: handshake requests arrive .* the PublicKey there must be \S{44}/);
    await message(
      consumer,
      new RegExp(`keys do not match \\(the PublicKey there must be ${right.slice(0, 10)}`.replace("+", "\\+")),
    );
    await stack.refresh();
    expect(await stack.exportState()).to.contain("provider: the public key is not that of the other gateway");
    await stack.up();
    expect(await publicKeyAt(provider)).to.equal(right);
    await untilTraffic();
  });

  it("go on with the keys that they have while those of a Secret are wrong; status and Pulumi's error name that, and the trigger makes new ones", async () => {
    const known = await publicKeyAt(consumer);
    await setSecret(provider, { ...newKeyPair(), publicKey: newKeyPair().publicKey });
    const cause = /data\.publicKey does not belong to data\.privateKey; the one that does is \S{44}/;
    const options = { timeoutMs: REPORT_MS, what: "the server's word on its keys" };
    await waitFor(provider.client, GatewayServerResource, options, ([server]) =>
      cause.test(findCondition(server?.status?.conditions, "Accepted")?.message ?? ""),
    );
    await stack.refresh();
    await failingUp(new RegExp(`has wrong keys: ${cause.source}`));
    // Nobody has been given what does not work.
    expect(await publicKeyAt(consumer)).to.equal(known);
    expect(await ask(5)).to.equal("served by web");
    await stack.setConfig("keys", "after the wrong ones");
    await stack.up();
    await untilTraffic();
  });

  it("name a wrong port, in the status and in Pulumi's error", async () => {
    await stack.setConfig("way", "1");
    await failingUp(/nothing listens on UDP \S+:30999: the port is wrong/);
    await message(consumer, /nothing listens on UDP \S+:30999/);
    // The next up, which is about something else, repairs it.
    await stack.setConfig("way", "0");
  });

  it("name UDP that is blocked while something is changed, and recover when it passes again", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    await stack.setConfig("keys", "third");
    await inNode(provider, "nft", ["-f", "-"], blocked(NODE_PORT));
    try {
      // The tunnel before the change was connected: that must not count.
      await failingUp(/UDP is blocked on the way/);
      await message(consumer, /UDP is blocked on the way/);
    } finally {
      await inNode(provider, "nft", ["delete", "table", "ip", TABLE]);
    }
    await untilTraffic();
  });

  it("name a way that lets small packets pass and no full-size ones, and which MTU would do", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    await stack.setConfig("mtu", "1350");
    await inNode(provider, "nft", ["-f", "-"], blocked(NODE_PORT, "meta length > 1380"));
    try {
      const cause = /packets of 1350 bytes do not reach the other gateway; set it to 1(2[89]|30|31)\d or less/;
      await failingUp(new RegExp(`mtu: the MTU is too large: ${cause.source}`));
      await message(consumer, cause);
    } finally {
      await inNode(provider, "nft", ["delete", "table", "ip", TABLE]);
    }
    await stack.setConfig("mtu", "1340");
    await stack.up();
    await untilTraffic();
  });

  it("follow a client whose address is translated to another, under load", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    const transfer = download();
    await transfer.begun;
    const nodes = consumer.cluster.nodes;
    try {
      for (const port of [40_000, 41_000]) {
        for (const { netns = "" } of nodes) {
          await inNetns(netns, "nft", ["-f", "-"], translated(NODE_PORT, port));
          // As a translator that forgets: what comes next is a new flow to it.
          await inNetns(netns, "conntrack", ["-D", "-p", "udp", "--dport", String(NODE_PORT)]);
        }
        console.log(`      client at a port from ${port} on: traffic flows again after ${await untilTraffic()} ms`);
        const flows = await Promise.all(
          nodes.map(({ netns = "" }) => inNetns(netns, "conntrack", ["-L", "-p", "udp", "--dport", String(NODE_PORT)])),
        );
        expect(flows.join("")).to.match(new RegExp(`sport=${NODE_PORT} dport=${port / 100}\\d\\d `));
      }
      expect(await transfer.bytes).to.equal(FILES.big);
    } finally {
      for (const { netns = "" } of nodes) await inNetns(netns, "nft", ["delete", "table", "ip", TABLE]);
    }
  });

  it("carry out firewall rules and routes that users bring, on the hosts that their labels mean", async () => {
    await consumer.client.apply(FirewallConfigurationResource, NO_WEB, { fieldManager: "test" });
    const [firewall] = await hostConditions(consumer, FirewallConfigurationResource, 1);
    expect(firewall).to.include({ type: "Applied", status: "True", host: "provider" });
    expect(await ask(2)).to.equal("");
    await consumer.client.apply(RouteConfigurationResource, NODE_ROUTES, { fieldManager: "test" });
    const routes = await hostConditions(consumer, RouteConfigurationResource, consumer.cluster.nodes.length);
    const fabric = await consumer.client.list(PodResource, { labelSelector: { [Labels.appName]: "fabric" } });
    expect(routes.map(({ host }) => host)).to.have.members(fabric.items.map(({ metadata }) => metadata?.name));
    await refused(consumer, "spec.table.chains[0].rules.filterRules[0].match[0].ip.value");
    await consumer.client.delete(FirewallConfigurationResource, nameOf(NO_WEB));
    await consumer.client.delete(RouteConfigurationResource, nameOf(NODE_ROUTES));
    await untilTraffic();
  });

  it("follow the server to another node port and to another port of its own, in place", async () => {
    const before = await theServer(provider);
    await stack.setConfig("nodePort", String(NODE_PORT + 1));
    await stack.setConfig("port", String(SERVER_PORT));
    await stack.up();
    await untilTraffic();
    expect((await theServer(provider)).metadata.uid).to.equal(before.metadata.uid);
    const { spec } = await activeGateway(provider);
    expect(spec?.containers[0]?.args).to.include(`--listen-port=${SERVER_PORT}`);
    const { status } = await connection(consumer, ({ status }) => status?.value === "Connected");
    expect(status?.endpoint).to.match(new RegExp(`:${NODE_PORT + 1}$`));
  });

  it("are rolled out with both agents' upgrade under load without losing a connection", async () => {
    await Promise.all([consumer, provider].map((lab) => replicasReady(lab, 2)));
    const before = await Promise.all([consumer, provider].map(activeGateway));
    await upgrade(images.next);
    const after = await Promise.all([consumer, provider].map(activeGateway));
    after.forEach(({ metadata }, side) => expect(metadata?.uid).to.not.equal(before[side]?.metadata?.uid));
  });

  it("find an MTU that is too large, and tell which would do", async () => {
    await stack.setConfig("mtu", "1480");
    await failingUp(/mtu: the MTU is too large: packets of 1480 bytes .* set it to 1440 or less/);
    await message(consumer, /the MTU is too large/);
    await stack.setConfig("mtu", "1440");
    // For the next tests, in the same up.
    await stack.setConfig("replicas", "1");
    if (consumer.cluster.backend === "local") await translateServer();
    await stack.up();
    const { status } = await connection(consumer, (one) => one.status?.mtu === 1440 && isProbed(one));
    expect(status?.fullSizePackets).to.equal("Pass");
  });

  it("reach the server by the address and port of a translator in front of it", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    const { status } = await connection(consumer, ({ status }) => status?.value === "Connected");
    expect(status?.endpoint).to.equal(`${TRANSLATED.address}:${TRANSLATED.port}`);
    await untilTraffic();
  });

  it("come back without a standby", async function () {
    if (consumer.cluster.backend !== "local") this.skip();
    await Promise.all([consumer, provider].map((lab) => replicasReady(lab, 1)));
    for (const lab of [consumer, provider]) {
      process.kill(processOf(await activeGateway(lab)), "SIGKILL");
      const milliseconds = await untilTraffic();
      console.log(
        `      without a standby, traffic flows again after ${milliseconds} ms (goal: ${GOALS_MS.withoutStandby})`,
      );
    }
  });

  it("outlast an upgrade without a standby, too", async () => {
    await upgrade(images.first);
  });

  it("leave with the link", async () => {
    await stack.destroy();
    for (const lab of [consumer, provider])
      expect((await lab.client.list(PodResource, GATEWAY)).items).to.have.length(0);
  });

  /** Asks the provider's pod from the consumer's; "" when there is no answer within the seconds given. */
  async function ask(seconds: number): Promise<string> {
    const command = `timeout ${seconds} wget -q -O - http://${remote}:${WEB_PORT}/index.html || true`;
    return (await consumer.kubectl(["exec", "web", "--", "sh", "-c", command])).trim();
  }

  /** Milliseconds until the provider's pod answers; then there is traffic of every kind, both ways, between all nodes. */
  async function untilTraffic(): Promise<number> {
    const started = Date.now();
    while ((await ask(1)) === "") if (Date.now() - started > 60_000) throw new Error("no traffic for 60 s");
    const milliseconds = Date.now() - started;
    await expectTraffic(consumer, provider);
    return milliseconds;
  }

  /** The server is reached at another address from now on, too, and the client is sent there by the next up. */
  async function translateServer(): Promise<void> {
    const server = `${provider.cluster.nodes[0]?.address}:${NODE_PORT + 1}`;
    for (const { netns = "" } of consumer.cluster.nodes) await inNetns(netns, "nft", ["-f", "-"], forwarded(server));
    await stack.setConfig("way", "2");
  }

  /** Both agents get another image while a transfer is under way. */
  async function upgrade(image: string): Promise<void> {
    const transfer = await slowDownload("medium");
    await transfer.begun;
    await stack.setConfig("image", image);
    const started = Date.now();
    await stack.up();
    await Promise.all([consumer, provider].map((lab) => allRun(lab, image)));
    console.log(`      upgraded within ${((Date.now() - started) / 1000).toFixed(1)} s`);
    expect(await transfer.end()).to.equal(FILES.medium);
    expect(await ask(5)).to.equal("served by web");
    await expectTraffic(consumer, provider);
  }

  /** A TCP transfer through the tunnel that goes on slowly until it is told to end. */
  async function slowDownload(
    file: keyof typeof FILES,
  ): Promise<{ begun: Promise<unknown>; end: () => Promise<number> }> {
    await consumer.kubectl(["exec", "web", "--", "rm", "-f", "/tmp/hurry"]);
    const slowly = "until [ -e /tmp/hurry ]; do dd bs=64k count=4 2>/dev/null; sleep 0.2; done; cat";
    const transfer = download(file, `{ ${slowly}; } |`);
    const end = async (): Promise<number> => {
      await consumer.kubectl(["exec", "web", "--", "touch", "/tmp/hurry"]);
      return transfer.bytes;
    };
    return { begun: transfer.begun, end };
  }

  /** A TCP transfer through the tunnel that lasts for some seconds. */
  function download(
    file: keyof typeof FILES = "big",
    reader = "",
  ): { begun: Promise<unknown>; bytes: Promise<number> } {
    const url = `http://${remote}:${WEB_PORT}/${file}`;
    const command = `timeout 300 wget -q -O - ${url} | ${reader} wc -c`;
    const bytes = consumer
      .kubectl(["exec", "web", "--", "sh", "-c", command], { timeoutMs: 310_000 })
      .then((count) => Number(count.trim()));
    bytes.catch(() => undefined);
    const underWay = "until pidof wget >/dev/null; do sleep 0.1; done; sleep 1";
    const begun = consumer.kubectl(["exec", "web", "--", "sh", "-c", underWay]);
    return { begun, bytes };
  }

  /** `pulumi up` fails with an error that names the cause, within 30 s of its beginning to wait for the tunnel. */
  async function failingUp(cause: RegExp): Promise<void> {
    const started = Date.now();
    const { code, stdout, stderr } = await stack.up({ allowFailure: true });
    const milliseconds = Date.now() - started;
    const waits = [...stdout.matchAll(/waited (\d+) s in vain for the connection/g)].map(([, seconds]) =>
      Number(seconds),
    );
    const waited = Math.max(0, ...waits);
    console.log(`      pulumi up failed after ${milliseconds} ms, of which it waited ${waited} s for the tunnel`);
    expect(code).to.not.equal(0);
    expect(`${stdout}${stderr}`).to.match(cause);
    // A failure that did not end a wait tells of none: then all of it counts.
    expect(waits.length > 0 ? waited * 1_000 : milliseconds).to.be.at.most(REPORT_MS);
    expect(milliseconds).to.be.lessThan(REPORT_MS + 10_000);
  }
});

/** What users may bring: no web traffic through the link from the consumer, and a route on each node. */
const NO_WEB = FirewallConfigurationResource.build({
  metadata: {
    name: "no-web",
    namespace: "default",
    labels: { [Labels.firewallCategory]: RuleCategory.gateway, [Labels.firewallUnique]: "provider" },
  },
  spec: {
    table: {
      name: "no-web",
      family: "IPV4",
      chains: [
        {
          name: "forward",
          type: "filter",
          hook: "forward",
          policy: "accept",
          priority: 0,
          rules: {
            filterRules: [
              {
                name: "web",
                action: "drop",
                counter: true,
                match: [
                  { op: "eq", proto: { value: "tcp" } },
                  { op: "eq", port: { value: String(WEB_PORT), position: "dst" } },
                ],
              },
            ],
          },
        },
      ],
    },
  },
});
const NODE_ROUTES = RouteConfigurationResource.build({
  metadata: { name: "documents", namespace: "default", labels: { [Labels.routeCategory]: RuleCategory.fabric } },
  spec: {
    table: {
      name: "documents",
      rules: [{ dst: "192.0.2.0/24", routes: [{ dst: "192.0.2.0/24", dev: "lo" }] }],
    },
  },
});

function nameOf({ metadata }: KubeObject): { name: string; namespace?: string } {
  return { name: metadata?.name ?? "", namespace: metadata?.namespace };
}

/** What so many hosts say of the only configuration of a kind, once all carry it out. */
function hostConditions<T extends RouteConfiguration | FirewallConfiguration>(
  lab: LabCluster,
  type: ResourceType<T>,
  count: number,
): Promise<HostCondition[]> {
  const describe = (all: T[]): string => JSON.stringify(all.map(({ status }) => status));
  return waitFor(lab.client, type, { timeoutMs: 60_000, what: `${count} hosts' word`, describe }, ([object]) => {
    const conditions = object?.status?.conditions ?? [];
    return conditions.length === count && conditions.every(({ status }) => status === "True") && conditions;
  });
}

/** A configuration that no host could carry out is refused at once, by the field's name. */
async function refused(lab: LabCluster, field: string): Promise<void> {
  const wrong = structuredClone(NO_WEB);
  const [rule] = wrong.spec.table.chains?.[0]?.rules.filterRules ?? [];
  rule!.match = [{ op: "eq", ip: { value: "10.0.0.0/33", position: "dst" } }];
  const failure: unknown = await lab.client.apply(FirewallConfigurationResource, wrong, { fieldManager: "test" }).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(String(failure)).to.contain(field);
}

/** Rules of nftables for a node: nothing comes in on a UDP port, or nothing of a kind. */
function blocked(port: number, kind = ""): string {
  const chain = `chain incoming { type filter hook prerouting priority -350; udp dport ${port} ${kind} drop; }`;
  return `table ip ${TABLE} { ${chain}; }\n`;
}

/** Rules of nftables for a node: what leaves for a UDP port comes from one of a hundred others. */
function translated(port: number, first: number): string {
  const sources = `${first}-${first + 99}`;
  const chain = `chain leaving { type nat hook postrouting priority 50; udp dport ${port} masquerade to :${sources}; }`;
  return `add table ip ${TABLE}\ndelete table ip ${TABLE}\ntable ip ${TABLE} { ${chain}; }\n`;
}

/** Rules of nftables for a node: what pods send to the translator's address arrives at the server's. */
function forwarded(server: string): string {
  const { address, port } = TRANSLATED;
  const chain = `chain arriving { type nat hook prerouting priority -110; ip daddr ${address} udp dport ${port} dnat to ${server}; }`;
  return `table ip ${TABLE} { ${chain}; }\n`;
}

async function inNetns(netns: string, program: string, args: string[], input?: string): Promise<string> {
  // conntrack fails where there is nothing to delete.
  const allowFailure = program === "conntrack";
  return (await exec("nsenter", [`--net=/run/netns/${netns}`, program, ...args], { input, allowFailure })).stdout;
}

/** On the first node of a cluster. */
function inNode({ cluster }: LabCluster, program: string, args: string[], input?: string): Promise<string> {
  return inNetns(cluster.nodes[0]?.netns ?? "", program, args, input);
}

async function runWeb(lab: LabCluster): Promise<void> {
  const pod = localPod("default", "web");
  const [container] = pod.spec?.containers ?? [];
  const files = Object.entries(FILES).map(
    ([name, bytes]) => `dd if=/dev/zero of=/tmp/www/${name} bs=1M count=0 seek=${bytes / 2 ** 20} 2>/dev/null`,
  );
  container!.command![2] = ["mkdir -p /tmp/www", ...files, container!.command![2]].join(" && ");
  await lab.client.apply(PodResource, pod, { fieldManager: "test" });
  await waitForPods(lab, "default", "the web pod Ready", (pods) => pods.some(isReady));
}

function connection(lab: LabCluster, isWanted: (connection: Connection) => boolean): Promise<Connection> {
  const describe = (all: Connection[]): string => JSON.stringify(all.map(({ status }) => status));
  return waitFor(lab.client, ConnectionResource, { timeoutMs: REPORT_MS, what: "the connection", describe }, (all) =>
    all.find(isWanted),
  );
}

/** Whether it is known if full-size packets pass: a first probe may have no answer, as the peer is just beginning. */
function isProbed({ status }: Connection): boolean {
  const { fullSizePackets } = status ?? {};
  return fullSizePackets !== undefined && fullSizePackets !== FullSizePackets.unknown;
}

/** The status says why, within 30 s. */
async function message(lab: LabCluster, pattern: RegExp): Promise<void> {
  await connection(lab, ({ status }) => pattern.test(status?.message ?? ""));
}

/** The gateway that serves: the only one with the label. */
async function theServer({ client }: LabCluster): Promise<GatewayServer> {
  const { items } = await client.list(GatewayServerResource);
  expect(items).to.have.length(1);
  return items[0]!;
}

/** The gateway has so many pods, all of the newest template and ready. */
async function replicasReady(lab: LabCluster, replicas: number): Promise<void> {
  const options = { ...GATEWAY, timeoutMs: 120_000, what: `${replicas} gateways ready` };
  await waitFor(lab.client, DeploymentResource, options, ([deployment]) => {
    const { status, metadata, spec } = deployment ?? {};
    const isSeen = (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
    const counts = [spec?.replicas, status?.replicas, status?.updatedReplicas, status?.readyReplicas];
    return isSeen && counts.every((count) => count === replicas);
  });
}

/** The agent's process in a pod: it is this machine's own where clusters are local. */
function processOf({ metadata }: Pod): number {
  const uid = metadata?.uid ?? "";
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    if (text(`/proc/${pid}/cgroup`).includes(uid) && text(`/proc/${pid}/cmdline`).includes("agent.cjs"))
      return Number(pid);
  }
  throw new Error(`no process of pod ${metadata?.name}`);
}

/** Empty for what has gone meanwhile. */
function text(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

async function publicKeyAt(lab: LabCluster): Promise<string> {
  return (await lab.client.list(PublicKeyResource)).items[0]?.spec.publicKey ?? "";
}

async function setPublicKey(lab: LabCluster, publicKey: string): Promise<void> {
  const { name = "", namespace } = (await lab.client.list(PublicKeyResource)).items[0]?.metadata ?? {};
  await lab.client.mergePatch(PublicKeyResource, { name, namespace }, { spec: { publicKey } });
}

async function setSecret(lab: LabCluster, data: { privateKey: string; publicKey: string }): Promise<void> {
  const labelSelector = `${Labels.gatewayResource}=true`;
  const { name = "", namespace } = (await lab.client.list(SecretResource, { labelSelector })).items[0]?.metadata ?? {};
  await lab.client.mergePatch(SecretResource, { name, namespace }, { data });
}
