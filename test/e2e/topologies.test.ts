import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { Pod, Service, ServiceSpec } from "kubernetes-types/core/v1";
import {
  ConnectionResource,
  GatewayClientResource,
  GatewayServerResource,
  IPResource,
  InternalNodeResource,
  Labels,
  Names,
  WgGatewayServerTemplateResource,
  mapRemoteAddress,
  normalizeCidrs,
} from "../../agent/api/index.js";
import {
  DeploymentResource,
  EndpointSliceResource,
  NamespaceResource,
  ServiceResource,
} from "../../agent/runtime/index.js";
import { downClusters, type ClusterSpec } from "../clusters/index.js";
import { until } from "../clusters/support/wait.js";
import { prepareAuditedLab } from "../support/audit.js";
import { exec } from "../support/exec.js";
import { GatewayNetwork } from "../support/gateway-network.js";
import { activeGateway, drainGatewayNode } from "../support/gateway-pods.js";
import type { Lab, LabCluster } from "../support/lab.js";
import { compareListings } from "../support/listing.js";
import { nodeState } from "../support/node-state.js";
import { OutsideHost } from "../support/outside-host.js";
import { TCP_PORT, UDP_PORT, answered, inPod, nodesOf, probeAll, serverContainer } from "../support/probe.js";
import { access, writeProgram, type ProgramResource } from "../support/program.js";
import type { PulumiStack } from "../support/pulumi.js";
import { exposeRemote } from "../support/remote-service.js";
import { configurationOf, expectTraffic, podTargets, runServers } from "../support/traffic.js";
import { waitFor } from "../support/wait.js";
import { isReady, waitForPods } from "../support/workload.js";
import { stopAtFirstFailure } from "../support/stop-at-first-failure.js";

const HUB: ClusterSpec = {
  name: "topo-hub",
  nodes: 2,
  podCIDR: "10.210.0.0/16",
  serviceCIDR: "10.110.0.0/16",
  cni: "vxlan",
  kubeProxy: "iptables",
};
/** Equal pod ranges; and a CNI that gives all that leaves a node the node's address. */
const WIDE: ClusterSpec = {
  ...HUB,
  name: "topo-wide",
  nodes: 3,
  serviceCIDR: "10.111.0.0/16",
  cni: "masquerade",
  kubeProxy: "nftables",
};
const LEAF_A: ClusterSpec = {
  ...WIDE,
  name: "topo-a",
  nodes: 2,
  serviceCIDR: "10.112.0.0/16",
  cni: "bridge",
  kubeProxy: "none",
};
/** Of its own range, but it uses the others' for something else: it remaps the hub's, and the hub need not remap its own. */
const LEAF_B: ClusterSpec = {
  ...LEAF_A,
  name: "topo-b",
  nodes: 1,
  podCIDR: "10.220.0.0/16",
  serviceCIDR: "10.113.0.0/16",
  kubeProxy: "nftables",
};
const RESERVED: Record<string, string[]> = { [LEAF_B.name]: [HUB.podCIDR!] };

/** Who gives load balancers of this class their addresses, and the template of gateway servers that asks for one. */
const [EDGE_CLASS, EDGE] = ["example.org/edge", "edge"] as const;
const OF_CLASS = { type: "LoadBalancer", templateName: EDGE };

const NODE_PORTS = { tcp: 31_080, udp: 31_090 };
const MANAGER = { fieldManager: "test" };
const KEEP = process.env["KEEP_CLUSTERS"] !== undefined;

/** Of the clusters' subnet, far from the nodes' addresses. */
const beside = ({ cluster }: LabCluster, last: number): string =>
  `${(cluster.nodes[0]?.address ?? "").split(".").slice(0, 3).join(".")}.${last}`;

describe("topologies, CNIs and Service implementations", function () {
  this.timeout(360_000);
  stopAtFirstFailure();
  const folder = mkdtempSync(path.join(os.tmpdir(), "topologies-"));
  let outside: OutsideHost | undefined;

  after(async () => {
    await outside?.remove();
    if (!KEEP) await downClusters([HUB, WIDE, LEAF_A, LEAF_B].map(({ name }) => name));
    rmSync(folder, { recursive: true, force: true });
  });

  /** Whoever asks from outside at any node, by its port or by the address that its load balancer is lent, is led to the Service's pods. */
  async function expectEntry(home: LabCluster, service: { name: string; namespace: string }, lent: string) {
    const status = { loadBalancer: { ingress: [{ ip: lent }] } };
    await home.client.mergePatch(ServiceResource, service, { status }, { subresource: "status" });
    outside ??= await OutsideHost.create("plq-topo-out", home.cluster.bridge ?? "", [
      beside(home, 250),
      beside(home, 251),
    ]);
    for (const node of home.cluster.nodes) {
      await outside.run("ip", ["route", "replace", lent, "via", node.address]);
      const targets = [
        { name: `${node.name} node port`, host: node.address, tcpPort: NODE_PORTS.tcp, udpPort: NODE_PORTS.udp },
        { name: `${node.name} load balancer`, host: lent },
      ];
      await answered(`${node.name} to lead to the Service`, [{ netns: outside.netns }], targets);
    }
  }

  describe("two nodes with an overlay and kube-proxy in iptables mode; three nodes that masquerade", () => {
    let lab: Lab, hub: LabCluster, wide: LabCluster;
    let stack: PulumiStack | undefined;
    let initial: Map<string, Set<string>>;
    let hubPods: Pod[], widePods: Pod[];

    before("clusters, agents, and one peering in both directions", async function () {
      this.timeout(25 * 60_000);
      lab = await prepareAuditedLab([HUB, WIDE]);
      [hub, wide] = lab.clusters as [LabCluster, LabCluster];
      [hubPods, widePods] = await Promise.all([runServers(hub), runServers(wide)]);
      initial = await nodeStates([hub, wide]);
      stack = await writeProgram(lab, folder, "both-directions", {
        ...agents(lab, [hub, wide]),
        peering: {
          type: "Peering",
          properties: {
            consumer: access(hub),
            provider: access(wide),
            bidirectional: true,
            gatewayServer: { type: "NodePort" },
          },
          dependsOn: ["topo-hub", "topo-wide"],
        },
        forth: offloading(hub, "forth"),
        back: offloading(wide, "back"),
      });
      await stack.up();
    });

    after(takeDown);

    async function takeDown(): Promise<void> {
      await stack?.destroy();
      await stack?.remove();
      stack = undefined;
    }

    it("carries TCP and UDP between the pods of all nodes, both ways, through one tunnel", async () => {
      for (const { client } of [hub, wide]) expect((await client.list(ConnectionResource)).items).to.have.length(1);
      const [toWide, toHub] = await Promise.all([podTargets(hub, widePods, wide), podTargets(wide, hubPods, hub)]);
      expect(
        await probeAll(
          hubPods.map((pod) => inPod(hub, pod)),
          toWide,
        ),
      ).to.deep.equal([]);
      expect(
        await probeAll(
          widePods.map((pod) => inPod(wide, pod)),
          toHub,
        ),
      ).to.deep.equal([]);
    });

    it("carries traffic of the nodes themselves to remote pods", async () => {
      const [toWide, toHub] = await Promise.all([podTargets(hub, widePods, wide), podTargets(wide, hubPods, hub)]);
      expect(await probeAll(nodesOf(hub), toWide)).to.deep.equal([]);
      expect(await probeAll(nodesOf(wide), toHub)).to.deep.equal([]);
    });

    it("has gateways take what nodes send by their links, whatever the CNI makes of it, and refuse what pods send there", async () => {
      for (const [home, peer] of [
        [hub, wide],
        [wide, hub],
      ] as const) {
        const limit = { timeoutMs: 30_000, what: `the nodes of ${home.cluster.name} to tell their addresses` };
        await waitFor(home.client, InternalNodeResource, limit, (nodes) =>
          nodes.every(({ status }) => (status?.addresses ?? []).length > 0),
        );
        const { "link-access": refused } = await (await GatewayNetwork.of(home, peer.cluster.name)).counters();
        expect(refused, home.cluster.name).to.equal(0);
      }
      const gateway = await GatewayNetwork.of(hub, wide.cluster.name);
      const refused = async (): Promise<number> => (await gateway.counters())["link-access"] ?? 0;
      const send = `require("node:dgram").createSocket("udp4").send("x", 6091, process.argv[1], () => process.exit())`;
      const address = (await activeGateway(hub)).status?.podIP ?? "";
      // Counts begin anew when rules are written: then it is sent once more.
      await until("the gateway to count what each pod sends", 30_000, async () => {
        const before = await refused();
        for (const { metadata } of hubPods)
          await hub.kubectl([
            ...["exec", "-n", metadata?.namespace ?? "", metadata?.name ?? "", "--"],
            ...["node", "-e", send, address],
          ]);
        expect((await refused()) - before).to.equal(hubPods.length);
        return true;
      });
    });

    it("offloads in both directions; Services reach offloaded pods, and offloaded pods those at home", async () => {
      for (const [home, namespace, other] of [
        [hub, "forth", wide],
        [wide, "back", hub],
      ] as const) {
        const common = { namespace };
        await Promise.all([
          serve(home, { ...common, name: "away", virtualNode: other.cluster.name }),
          serve(home, { ...common, name: "here" }),
        ]);
        const pods = await readyPods(home, namespace, 2);
        const targets = ["away", "here"].map((name) => ({ name, host: name }));
        await answered(
          `the Services of ${namespace} to lead to their pods`,
          pods.map((pod) => inPod(home, pod)),
          targets,
        );
      }
    });

    it("takes NodePort and load balancer traffic at any node to offloaded pods", async () => {
      for (const [index, home, namespace] of [
        [0, hub, "forth"],
        [1, wide, "back"],
      ] as const) {
        const metadata = { name: "outer", namespace };
        await home.client.apply(ServiceResource, { metadata, spec: outerService({ app: "away" }) }, MANAGER);
        await expectEntry(home, metadata, beside(home, 240 + index));
      }
    });

    it("reaches hosts outside through the other cluster, with its nodes' address or with the pod's own", async () => {
      const host = outside!;
      await host.serve("outside");
      const [masked, plain] = host.addresses as [string, string];
      const ips = await Promise.all([lend(wide, "masked", masked, true), lend(wide, "plain", plain, false)]);
      // Who is not masqueraded is answered by those who know the way: to the node of the gateway.
      const gateway = (await wide.client.list(GatewayServerResource)).items[0]?.status?.internalEndpoint?.node;
      const node = wide.cluster.nodes.find(({ name }) => name === gateway);
      for (const range of (await configurationOf(wide, hub)).status?.remote?.cidr?.pod ?? [])
        await host.run("ip", ["route", "replace", range, "via", node?.address ?? ""]);
      const [hubsView, widesView] = await Promise.all([configurationOf(hub, wide), configurationOf(wide, hub)]);
      const targets = ips.map((ip, index) => ({
        name: `outside ${index}`,
        host: mapRemoteAddress(hubsView, ip),
        answer: "outside",
      }));
      const ask = (): Promise<string[]> =>
        probeAll(
          hubPods.map((pod) => inPod(hub, pod)),
          targets,
        );
      expect(await ask()).to.deep.equal([]);
      const expected = [
        node?.address ?? "",
        ...hubPods.map(({ status }) => mapRemoteAddress(widesView, status?.podIP ?? "")),
      ];
      // The way there and the address that is shown there are rules of different hosts.
      await until("the callers' addresses", 60_000, async () => {
        if (host.callers.size < expected.length) await ask();
        expect([...host.callers].sort()).to.deep.equal(expected.sort());
        return true;
      });
      for (const name of ["masked", "plain"]) await wide.client.delete(IPResource, { name, namespace: "default" });
    });

    it("recovers by itself when the node of its server is drained, and that of its client", async () => {
      for (const [side, home] of Object.entries({ server: wide, client: hub })) {
        const node = await drainGatewayNode(home);
        const started = Date.now();
        await until(`traffic after the ${side}'s node was drained`, 60_000, async () => {
          await expectTraffic(hub, wide);
          return true;
        });
        console.log(`      ${side}'s node drained: traffic of every kind again after ${Date.now() - started} ms`);
        expect((await activeGateway(home)).spec?.nodeName).to.not.equal(node);
        await home.kubectl(["uncordon", node]);
      }
    });

    it("leaves the nodes as they were, rule by rule", async () => {
      await Promise.all([
        hub.kubectl(["delete", "deployments,services", "--all", "-n", "forth"]),
        wide.kubectl(["delete", "deployments,services", "--all", "-n", "back"]),
      ]);
      await takeDown();
      await expectNodesAsIn(initial, [hub, wide]);
      await downClusters([WIDE.name]);
    });
  });

  describe("a hub with two leaves: server at the consumer, load balancer, no kube-proxy", () => {
    let lab: Lab, hub: LabCluster, a: LabCluster, b: LabCluster;
    let stack: PulumiStack | undefined;
    let initial: Map<string, Set<string>>;
    let atHub: Pod[], atA: Pod[], atB: Pod[];

    /** The hub's two peerings; how the first leaf's server is exposed may change. */
    const program = (gatewayServer: object): Promise<PulumiStack> =>
      writeProgram(lab, folder, "hub", {
        ...agents(lab, [hub, a, b]),
        "hub-a": {
          type: "Peering",
          properties: { consumer: access(hub), provider: access(a), gatewayServer },
          dependsOn: ["topo-hub", "topo-a"],
        },
        "hub-b": {
          type: "Peering",
          properties: {
            consumer: access(hub),
            provider: access(b),
            gatewayServerLocation: "Consumer",
            gatewayServer: { type: "ClusterIP" },
          },
          dependsOn: ["topo-hub", "topo-b"],
        },
        leaves: offloading(hub, "leaves", ["hub-a", "hub-b"]),
      });

    before("clusters, agents, and the hub's two peerings", async function () {
      this.timeout(25 * 60_000);
      lab = await prepareAuditedLab([HUB, LEAF_A, LEAF_B]);
      [hub, a, b] = lab.clusters as [LabCluster, LabCluster, LabCluster];
      // As where clusters share a network for Services.
      const [first] = hub.cluster.nodes;
      await inNode(b, ["ip", "route", "replace", hub.cluster.serviceCIDR, "via", first?.address ?? ""]);
      [atHub, atA, atB] = (await Promise.all([hub, a, b].map(runServers))) as [Pod[], Pod[], Pod[]];
      initial = await nodeStates([hub, a, b]);
      stack = await program(OF_CLASS);
      await Promise.all([stack.up(), edgeTemplate(a).then(() => lendGatewayAddress(a, 245))]);
    });

    it("has the tunnels' servers where they were asked for", async () => {
      const serversOf = async ({ client }: LabCluster): Promise<(string | undefined)[]> =>
        (await client.list(GatewayServerResource)).items.map(({ spec }) => spec.endpoint?.serviceType);
      expect(await serversOf(hub)).to.deep.equal(["ClusterIP"]);
      expect(await serversOf(a)).to.deep.equal(["LoadBalancer"]);
      expect(await serversOf(b)).to.deep.equal([]);
    });

    it("has pods' ranges remapped on both sides of a tunnel, or on the client's alone", async () => {
      const isRemapped = async (from: LabCluster, to: LabCluster): Promise<boolean> => {
        const { spec, status } = await configurationOf(from, to);
        const [own, here] = [spec, status].map((one) => normalizeCidrs(one?.remote?.cidr?.pod).join());
        return here !== own;
      };
      expect([await isRemapped(hub, a), await isRemapped(a, hub)]).to.deep.equal([true, true]);
      expect([await isRemapped(hub, b), await isRemapped(b, hub)]).to.deep.equal([false, true]);
    });

    it("carries traffic between the hub and each leaf, both ways", async () => {
      for (const [leaf, pods] of [
        [a, atA],
        [b, atB],
      ] as const) {
        const [toLeaf, toHub] = await Promise.all([podTargets(hub, pods, leaf), podTargets(leaf, atHub, hub)]);
        const fromHub = [...atHub.map((pod) => inPod(hub, pod)), ...nodesOf(hub)];
        const fromLeaf = [...pods.map((pod) => inPod(leaf, pod)), ...nodesOf(leaf)];
        expect(await probeAll(fromHub, toLeaf)).to.deep.equal([]);
        expect(await probeAll(fromLeaf, toHub)).to.deep.equal([]);
      }
    });

    it("takes NodePort and load balancer traffic at any node to remote pods where there is no kube-proxy", async () => {
      const [remote] = await podTargets(a, atHub, hub);
      const metadata = { name: "outer", namespace: "default" };
      await exposeRemote(a, metadata, outerService(), remote?.host ?? "");
      await expectEntry(a, metadata, beside(a, 242));
      await a.client.delete(ServiceResource, metadata);
      await a.client.delete(EndpointSliceResource, metadata);
    });

    it("carries traffic from leaf to leaf through the hub, by Services and by name", async () => {
      const common = { namespace: "leaves" };
      await Promise.all([
        serve(hub, { ...common, name: "on-a", virtualNode: a.cluster.name }),
        serve(hub, { ...common, name: "on-b", virtualNode: b.cluster.name }),
        serve(hub, { ...common, name: "here" }),
      ]);
      const pods = await readyPods(hub, "leaves", 3);
      for (const leaf of [a, b]) await reflected(leaf, ["on-a", "on-b", "here"]);
      const targets = ["on-a", "on-b", "here"].map((name) => ({ name, host: name }));
      await answered(
        "the Services to lead to their pods",
        pods.map((pod) => inPod(hub, pod)),
        targets,
      );
    });

    it("drops, and counts, what a leaf gone bad sends to other leaves' pods, to the hub's nodes and Services, or in others' names", async () => {
      const [ofB] = await podTargets(hub, atB, b);
      const isAllowed = atHub.map(({ status }) => status?.podIP ?? "");
      const service = await hub.client.get(ServiceResource, { name: "kubernetes", namespace: "default" });
      const isForeign = [
        ofB?.host ?? "",
        ...hub.cluster.nodes.map(({ address }) => address),
        service?.spec?.clusterIP ?? "",
      ];
      const [bad, guard] = await Promise.all([
        GatewayNetwork.of(a, hub.cluster.name),
        GatewayNetwork.of(hub, a.cluster.name),
      ]);
      // Counts begin anew when rules are written, as they are when an address is lent: then it is sent once more.
      await until("the hub's guard to count what was sent", 60_000, async () => {
        const before = await guard.counters();
        await bad.send(beyondPods(a), [...isAllowed, ...isForeign]);
        await bad.send(ofB?.host ?? "", isAllowed);
        const after = await guard.counters();
        const more = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
        expect({ destinations: more("foreign-destination"), sources: more("foreign-source") }).to.deep.equal({
          destinations: isForeign.length,
          sources: isAllowed.length,
        });
        return true;
      });
    });

    it("follows a load balancer to another address by itself; a refresh and an update write it down", async () => {
      await inNode(a, ["ip", "address", "delete", `${beside(a, 245)}/32`, "dev", "eth0"]);
      await lendGatewayAddress(a, 246);
      const followed = { timeoutMs: 60_000, what: "the hub's gateway to find the server at its new address" };
      await waitFor(hub.client, ConnectionResource, followed, (connections) =>
        connections.some(
          ({ status }) => status?.value === "Connected" && status.endpoint?.startsWith(`${beside(a, 246)}:`),
        ),
      );
      await expectFirstLeafAt(beside(a, 246));
      const client = async () => (await hub.client.list(GatewayClientResource)).items[0]?.spec.endpoint?.addresses;
      expect(await client()).to.deep.equal([beside(a, 245)]);
      await stack?.refresh();
      await stack?.up();
      expect(await client()).to.deep.equal([beside(a, 246)]);
      await expectFirstLeafAt(beside(a, 246));
    });

    it("has it moved from the load balancer to a node's port in place", async () => {
      const server = async () => (await a.client.list(GatewayServerResource)).items[0];
      const before = await server();
      stack = await program({ type: "NodePort" });
      const { stdout } = await stack.preview();
      expect(stdout)
        .to.match(/~ liqo:index:NetworkLink/)
        .and.not.match(/[+-]{2} ?liqo:index:/);
      await stack.up();
      const { metadata } = (await server()) ?? {};
      expect(metadata?.uid).to.equal(before?.metadata.uid);
      const services = (await a.client.list(ServiceResource, { namespace: metadata?.namespace })).items;
      expect(services.map(({ spec }) => [spec?.type, spec?.loadBalancerClass])).to.deep.equal([
        ["NodePort", undefined],
      ]);
      // The node of the server's pod comes first of those that answer.
      const { nodeName } = (await activeGateway(a)).spec ?? {};
      await expectFirstLeafAt(a.cluster.nodes.find(({ name }) => name === nodeName)?.address ?? "");
    });

    /** The hub's gateway calls the first leaf's server there, and the hub's pods and the leaf's reach each other. */
    async function expectFirstLeafAt(address: string): Promise<void> {
      const { items } = await hub.client.list(ConnectionResource);
      const endpoints = items.map(({ status }) => status?.endpoint?.split(":")[0]).filter(Boolean);
      expect(endpoints).to.deep.equal([address]);
      await expectTraffic(hub, a);
    }

    it("leaves the nodes as they were, rule by rule", async () => {
      await hub.kubectl(["delete", "deployments,services", "--all", "-n", "leaves"]);
      await takeDown();
      // The load balancer's, which nobody has told that its Service is gone.
      await inNode(a, ["ip", "address", "delete", `${beside(a, 246)}/32`, "dev", "eth0"]);
      await expectNodesAsIn(initial, [hub, a, b]);
    });

    after(takeDown);

    async function takeDown(): Promise<void> {
      await stack?.destroy();
      await stack?.remove();
      stack = undefined;
    }
  });
});

function agents(lab: Lab, clusters: readonly LabCluster[]): Record<string, ProgramResource> {
  return Object.fromEntries(
    clusters.map((one) => [
      one.cluster.name,
      {
        type: "Agent",
        properties: {
          cluster: access(one),
          clusterId: one.cluster.name,
          image: lab.agentImage,
          reservedSubnets: RESERVED[one.cluster.name] ?? [],
        },
      },
    ]),
  );
}

function offloading(consumer: LabCluster, namespace: string, dependsOn = ["peering"]): ProgramResource {
  return {
    type: "NamespaceOffloading",
    properties: { cluster: access(consumer), namespace, createNamespace: true },
    dependsOn,
  };
}

async function nodeStates(labs: readonly LabCluster[]): Promise<Map<string, Set<string>>> {
  const all = labs.flatMap(({ cluster }) => cluster.nodes.map(({ netns = "" }) => netns));
  return new Map(await Promise.all(all.map(async (netns) => [netns, await nodeState(netns)] as const)));
}

async function expectNodesAsIn(initial: Map<string, Set<string>>, labs: readonly LabCluster[]): Promise<void> {
  for (const [netns, state] of await nodeStates(labs)) {
    const { added, removed } = compareListings(initial.get(netns) ?? new Set(), state);
    const changes = [...added.map((line) => `+ ${line}`), ...removed.map((line) => `- ${line}`)];
    expect(changes.join("\n"), netns).to.equal("");
  }
}

/** A Service of one pod, on a virtual node or on an ordinary one. */
async function serve(
  { client }: LabCluster,
  { namespace, name, virtualNode }: { namespace: string; name: string; virtualNode?: string },
): Promise<void> {
  const labels = { app: name };
  const placement = virtualNode
    ? { key: Labels.remoteClusterID, operator: "In", values: [virtualNode] }
    : { key: Labels.type, operator: "NotIn", values: ["virtual-node"] };
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [placement] }] },
  };
  const deployment: Deployment = {
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 0, affinity: { nodeAffinity }, containers: [serverContainer()] },
      },
    },
  };
  const service: Service = {
    metadata: { name, namespace },
    spec: {
      selector: labels,
      ports: [
        { name: "tcp", port: TCP_PORT },
        { name: "udp", port: UDP_PORT, protocol: "UDP" },
      ],
    },
  };
  await client.apply(ServiceResource, service, MANAGER);
  await client.apply(DeploymentResource, deployment, MANAGER);
}

function outerService(selector?: Record<string, string>): ServiceSpec {
  return {
    type: "LoadBalancer",
    ...(selector ? { selector } : {}),
    ports: [
      { name: "tcp", port: TCP_PORT, nodePort: NODE_PORTS.tcp },
      { name: "udp", port: UDP_PORT, nodePort: NODE_PORTS.udp, protocol: "UDP" },
    ],
  };
}

function readyPods(lab: LabCluster, namespace: string, count: number): Promise<Pod[]> {
  return waitForPods(lab, namespace, `${count} pods Ready in ${namespace}`, (pods) =>
    pods.length === count && pods.every((pod) => isReady(pod) && pod.status?.podIP) ? pods : undefined,
  );
}

/** Waits until a leaf has the endpoints of all these Services of the hub. */
async function reflected(leaf: LabCluster, names: readonly string[]): Promise<void> {
  const { items } = await leaf.client.list(NamespaceResource);
  const namespace = items.find(({ metadata }) => metadata?.name?.startsWith("leaves-"))?.metadata?.name ?? "";
  await waitFor(
    leaf.client,
    EndpointSliceResource,
    { namespace, timeoutMs: 60_000, what: `endpoints of ${names.join(", ")}` },
    (slices) =>
      names.every((name) =>
        slices.some(
          ({ metadata, endpoints }) =>
            metadata?.labels?.["kubernetes.io/service-name"] === name &&
            endpoints?.some(({ addresses, conditions }) => addresses.length > 0 && conditions?.ready !== false),
        ),
      ),
  );
}

/** An IP of the cluster's for a host outside; resolves to the address that peers may ask for. */
async function lend({ client }: LabCluster, name: string, ip: string, masquerade: boolean): Promise<string> {
  const metadata = { name, namespace: "default" };
  await client.apply(IPResource, IPResource.build({ metadata, spec: { ip, masquerade } }), MANAGER);
  return waitFor(
    client,
    IPResource,
    { namespace: "default", timeoutMs: 60_000, what: `an address lent to ${ip}` },
    (ips) => ips.find((one) => one.metadata.name === name)?.status?.ip,
  );
}

/** The stock template of gateway servers, but for Services of a class. */
async function edgeTemplate({ client }: LabCluster): Promise<void> {
  // Nothing of that kind can be watched before the agent is there.
  const { metadata, spec } = await until("the stock template of gateway servers", 120_000, async () => {
    const { items } = await client.list(WgGatewayServerTemplateResource);
    return items.find((template) => template.metadata.name === Names.gatewayServerTemplate);
  });
  const own = structuredClone(spec) as { template: { spec: { service: { spec: object } } } };
  Object.assign(own.template.spec.service.spec, { loadBalancerClass: EDGE_CLASS });
  await client.apply(
    WgGatewayServerTemplateResource,
    { metadata: { name: EDGE, namespace: metadata.namespace }, spec: own },
    MANAGER,
  );
}

/** Plays the load balancers of one class: the gateway server's Service gets an address if it is of that, and the first node answers for it. */
async function lendGatewayAddress(leaf: LabCluster, last: number): Promise<void> {
  const ip = beside(leaf, last);
  await inNode(leaf, ["ip", "address", "replace", `${ip}/32`, "dev", "eth0"]);
  const { metadata } = await waitFor(
    leaf.client,
    ServiceResource,
    { timeoutMs: 120_000, what: "the gateway server's Service" },
    (services) => services.find(({ spec }) => spec?.type === "LoadBalancer" && spec.loadBalancerClass === EDGE_CLASS),
  );
  const { name = "", namespace } = metadata ?? {};
  const status = { loadBalancer: { ingress: [{ ip }] } };
  await leaf.client.mergePatch(ServiceResource, { name, namespace }, { status }, { subresource: "status" });
}

async function inNode({ cluster }: LabCluster, command: readonly string[]): Promise<void> {
  await exec("nsenter", [`--net=/run/netns/${cluster.nodes[0]?.netns}`, ...command]);
}

/** An address among a cluster's pods' that none of them has. */
const beyondPods = ({ cluster }: LabCluster): string => `${cluster.podCIDR.split(".").slice(0, 2).join(".")}.250.7`;
