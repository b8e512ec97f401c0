import { expect } from "chai";
import { applyFabric as apply, removeFabric } from "../../../agent/fabric/apply.js";
import type { FabricState } from "../../../agent/fabric/state.js";
import { gatewayMetrics } from "../../../agent/gateway/metrics.js";
import { gatewayRuleset } from "../../../agent/gateway/ruleset.js";
import type { GatewayState, RangePair } from "../../../agent/gateway/state.js";
import {
  applyChanges,
  wireguardChanges,
  wireguardStatus,
  type WireGuardConfig,
} from "../../../agent/gateway/wireguard.js";
import { newKeyPair } from "../../../agent/controller/network/gateways/key-secret.js";
import { nodeAddresses } from "../../../agent/fabric/node-addresses.js";
import { NftablesTable, hardwareAddress } from "../../../agent/net/index.js";
import type { Sample } from "../../../agent/runtime/metrics.js";
import { until } from "../../clusters/support/wait.js";
import { SILENCE_MS, call, echoServer } from "./support/echo.js";
import { Namespace } from "./support/namespaces.js";
import { TestNode, applyGateway, startGateway } from "./support/site.js";

/*
 * Two clusters made of network namespaces, with equal pod ranges and even equal pod addresses; A has two nodes. The ranges
 * are those of the example in the network specification, §11.
 */
const PODS = "10.244.0.0/16";
const EXTERNAL = "10.70.0.0/16";
/** The gateway pods' own addresses; each cluster has a pod with the other's. */
const GATEWAY_A = "10.244.0.9";
const GATEWAY_B = "10.244.0.10";
const LISTEN_PORT = 51_840;
const NODE_PORT = 30_742;

const calledByA = { pods: "10.71.0.0/16", external: "10.68.0.0/16" };
const calledByB = { pods: "10.68.0.0/16", external: "10.69.0.0/16" };

function pair(real: string, mapped: string): RangePair[] {
  return [{ real, mapped }];
}

function gatewayState(isServer: boolean, mapped: { pods: string; external: string }): GatewayState {
  return {
    tunnel: {
      device: "liqo-tunnel",
      address: isServer ? "169.254.18.1" : "169.254.18.2",
      peerAddress: isServer ? "169.254.18.2" : "169.254.18.1",
      mtu: 1340,
    },
    local: { pods: [PODS], external: [EXTERNAL] },
    remote: { pods: pair(PODS, mapped.pods), external: pair(EXTERNAL, mapped.external) },
    linkAddress: "10.80.0.9",
    nodes: [],
    mappings: [],
  };
}

function fabricState(
  node: number,
  id: number,
  mapped: { pods: string; external: string },
  gateway = GATEWAY_A,
): FabricState {
  return {
    linkAddress: `10.80.0.${node}`,
    pods: [PODS],
    links: [
      {
        device: "liqo.gatewaypod",
        id,
        gateway,
        gatewayLinkAddress: "10.80.0.9",
        mtu: 1340,
        remoteRanges: [mapped.pods, mapped.external],
      },
    ],
    lentTargets: [],
    masqueraded: [],
  };
}

/** Sends one datagram from one address to another. */
const SEND = `
const u = require("node:dgram").createSocket("udp4");
u.bind(0, process.argv[1], () => u.send("x", 9, process.argv[2], () => process.exit()));`;

const ONE_OF_EACH = ["foreign-source", "foreign-destination", "gateway-access"]
  .map((reason) => ({ labels: { cluster_id: "a", reason }, value: 1 }))
  .concat({ labels: { cluster_id: "a", reason: "link-access" }, value: 0 });

/** How many packets the namespace has handed on by its routes. */
async function forwarded(namespace: Namespace): Promise<number> {
  return Number((await namespace.sh("awk '/^Ip: [0-9]/ { print $7 }' /proc/net/snmp")).trim());
}

/** What Prometheus is told of the packets that a gateway's rules have refused. */
async function told(table: NftablesTable): Promise<Sample[]> {
  const metrics = gatewayMetrics({
    remoteClusterID: "a",
    device: "liqo-tunnel",
    implementation: () => "userspace",
    isActive: () => true,
    connection: () => ({ connected: true, latency: 1 }),
    counters: () => table.counters(),
  });
  const dropped = metrics.find(({ name }) => name === "liqo_gateway_dropped_packets_total");
  return [...((await dropped?.samples()) ?? [])];
}

function applyFabric({ run }: Namespace, state: FabricState): Promise<boolean> {
  return apply({ run, table: new NftablesTable(run) }, state);
}

for (const [way, isShort] of [
  ["the long way through the gateways", false],
  ["the short way through the gateways, and direct links to them", true],
] as const)
  describe(`data path between two clusters with equal pod ranges, ${way}`, dataPath(isShort));

function dataPath(isShort: boolean) {
  return function (this: Mocha.Suite) {
    this.timeout(60_000);
    let a1: TestNode, a2: TestNode, b1: TestNode;
    let podA1: Namespace, podA2: Namespace, podB: Namespace, twinA: Namespace, twinB: Namespace;
    let gatewayA: Namespace, gatewayB: Namespace;
    const stateA = gatewayState(false, calledByA);
    const stateB = gatewayState(true, calledByB);

    before(async function () {
      if (process.getuid?.() !== 0) this.skip();
      const wan = await Namespace.create("wan");
      await wan.sh("ip link add switch type bridge && ip link set switch up");
      a1 = await TestNode.create("a1", wan, "198.18.0.11", 0);
      a2 = await TestNode.create("a2", wan, "198.18.0.12", 1);
      b1 = await TestNode.create("b1", wan, "198.18.0.21", 0);
      await a1.namespace.run("ip", ["route", "add", a2.podRange, "via", a2.address]);
      await a2.namespace.run("ip", ["route", "add", a1.podRange, "via", a1.address]);
      podA1 = await a1.addPod("pa1", "10.244.0.5");
      podA2 = await a2.addPod("pa2", "10.244.1.5");
      podB = await b1.addPod("pb", "10.244.0.5");
      gatewayA = await a1.addPod("ga", GATEWAY_A);
      gatewayB = await b1.addPod("gb", GATEWAY_B);
      twinA = await a1.addPod("ta", GATEWAY_B);
      twinB = await b1.addPod("tb", GATEWAY_A);
      stateA.nodes = [node("a1", 11, "10.80.0.1", a1, true), node("a2", 12, "10.80.0.2", a2, false)];
      stateB.nodes = [node("b1", 21, "10.80.0.1", b1, true)];
      stateA.linkSources = (await Promise.all([a1, a2].map(({ namespace }) => nodeAddresses(namespace.run)))).flatMap(
        (all) => all ?? [],
      );
      stateB.linkSources = await nodeAddresses(b1.namespace.run);
      stateB.mappings = [
        { lent: "10.70.0.4", target: "10.96.0.80" },
        { lent: "10.70.0.6", target: GATEWAY_A },
      ];
      await Promise.all([startGateway(gatewayA, stateA), startGateway(gatewayB, stateB)]);
      if (isShort) await introduceGateways();
      await applyFabrics();
      await exposeServices();
      await connectTunnel();
      if (isShort) await linkDirectly();
      await Promise.all(
        [podA1, podA2, podB, twinA, twinB, a1.namespace, b1.namespace].map((namespace) => echoServer(namespace, 8080)),
      );
    });

    after(() => Namespace.closeAll());

    function node(name: string, id: number, linkAddress: string, { address, podRange }: TestNode, isOwn: boolean) {
      return { name, device: `liqo.node${name}`, id, linkAddress, underlay: address, pods: [podRange], isOwn };
    }

    /** What kube-proxy would do: the gateway's NodePort, and Services. */
    async function exposeServices(): Promise<void> {
      await b1.namespace.sh(`nft add rule ip cni nodeport udp dport ${NODE_PORT} dnat to ${GATEWAY_B}:${LISTEN_PORT}`);
      await b1.namespace.sh("nft add rule ip cni nodeport ip daddr 10.96.0.80 tcp dport 80 dnat to 10.244.0.5:8080");
      for (const chain of ["nodeport", "output"]) {
        const rule = `nft add rule ip cni ${chain} ip daddr 10.96.0.50 tcp dport 80 dnat to 10.71.0.5:8080`;
        await Promise.all([a1, a2].map(({ namespace }) => namespace.sh(rule)));
      }
      await a2.namespace.sh("nft add rule ip cni nodeport tcp dport 31000 dnat to 10.71.0.5:8080");
    }

    async function applyFabrics(): Promise<void> {
      await applyFabric(a1.namespace, fabricState(1, 11, calledByA));
      await applyFabric(a2.namespace, fabricState(2, 12, calledByA));
      await applyFabric(b1.namespace, fabricState(1, 21, calledByB, GATEWAY_B));
    }

    /** Their nodes know them by what they say to others. */
    async function introduceGateways(): Promise<void> {
      await gatewayA.run("bash", ["-c", `echo > /dev/udp/${a1.bridge}/9`]);
      await gatewayB.run("bash", ["-c", `echo > /dev/udp/${b1.bridge}/9`]);
    }

    /** Gateways bring up their ends, nodes take them into use, and so do gateways. */
    async function linkDirectly(): Promise<void> {
      await applyGateways();
      await applyFabrics();
      await applyGateways();
    }

    async function applyGateways(a = stateA, b = stateB): Promise<void> {
      await applyGateway(gatewayA.run, a, isShort);
      await applyGateway(gatewayB.run, b, isShort);
    }

    async function configure(namespace: Namespace, config: WireGuardConfig): Promise<void> {
      const status = await wireguardStatus(namespace.run, "liqo-tunnel");
      const change = wireguardChanges(config, status, undefined);
      if (change) await applyChanges(namespace.run, "liqo-tunnel", change);
    }

    async function connectTunnel(): Promise<void> {
      const [keysA, keysB] = [newKeyPair(), newKeyPair()];
      await configure(gatewayB, {
        privateKey: keysB.privateKey,
        listenPort: LISTEN_PORT,
        peer: { publicKey: keysA.publicKey },
      });
      const endpoint = `${b1.address}:${NODE_PORT}`;
      await configure(gatewayA, { privateKey: keysA.privateKey, peer: { publicKey: keysB.publicKey, endpoint } });
    }

    for (const protocol of ["tcp", "udp"] as const) {
      it(`${protocol}: pods reach each other both ways and see remapped addresses`, async () => {
        expect(await call(podA1, protocol, "10.71.0.5", 8080)).to.equal("10.68.0.5 5");
        expect(await call(podA2, protocol, "10.71.0.5", 8080)).to.equal("10.68.1.5 5");
        expect(await call(podB, protocol, "10.68.0.5", 8080)).to.equal("10.71.0.5 5");
        expect(await call(podB, protocol, "10.68.1.5", 8080)).to.equal("10.71.0.5 5");
      });

      it(`${protocol}: nodes reach remote pods from the unknown source address`, async () => {
        expect(await call(a1.namespace, protocol, "10.71.0.5", 8080)).to.equal("10.69.0.0 5");
        expect(await call(a2.namespace, protocol, "10.71.0.5", 8080)).to.equal("10.69.0.0 5");
        expect(await call(b1.namespace, protocol, "10.68.1.5", 8080)).to.equal("10.68.0.0 5");
      });
    }

    it("pods whose real addresses are those of the other cluster's gateway pod are reached, and reach others", async () => {
      for (const protocol of ["tcp", "udp"] as const) {
        expect(await call(twinA, protocol, "10.71.0.5", 8080)).to.equal("10.68.0.10 5");
        expect(await call(podB, protocol, "10.68.0.10", 8080)).to.equal("10.71.0.5 5");
        expect(await call(twinB, protocol, "10.68.1.5", 8080)).to.equal("10.71.0.9 5");
        expect(await call(podA2, protocol, "10.71.0.9", 8080)).to.equal("10.68.1.5 5");
        expect(await call(twinA, protocol, "10.71.0.9", 8080)).to.equal("10.68.0.10 5");
      }
    });

    it("full-size packets and long transfers pass, both ways", async () => {
      for (const [from, to, seen] of [
        [podA2, "10.71.0.5", "10.68.1.5"],
        [podB, "10.68.1.5", "10.71.0.5"],
      ] as const) {
        expect(await call(from, "tcp", to, 8080, 3_000_000)).to.equal(`${seen} 3000000`);
        // Larger than the tunnel's MTU: the node tells the sender, which then splits the datagram.
        for (const size of [1_400, 1_200]) expect(await call(from, "udp", to, 8080, size)).to.equal(`${seen} ${size}`);
      }
    });

    it("a Service of one cluster whose endpoint is in the other answers pods, nodes and outside clients", async () => {
      expect(await call(podA1, "tcp", "10.96.0.50", 80)).to.equal("10.68.0.5 5");
      expect(await call(podA2, "tcp", "10.96.0.50", 80)).to.equal("10.68.1.5 5");
      expect(await call(b1.namespace, "tcp", a2.address, 31_000)).to.equal("10.69.0.0 5");
    });

    it("a lent address leads to a Service of its owner", async () => {
      expect(await call(podA2, "tcp", "10.68.0.4", 80)).to.match(/^10\.\d+\.\d+\.\d+ 5$/);
      expect(await call(a2.namespace, "tcp", "10.68.0.4", 80)).to.match(/^10\.\d+\.\d+\.\d+ 5$/);
    });

    it("a lent address leads to a pod of its owner, which answers from it, and is reached by its own one", async () => {
      for (const protocol of ["tcp", "udp"] as const) {
        expect(await call(podA2, protocol, "10.68.0.6", 8080)).to.equal("10.68.1.5 5");
        expect(await call(podA2, protocol, "10.71.0.9", 8080)).to.equal("10.68.1.5 5");
        expect(await call(twinB, protocol, "10.68.1.5", 8080)).to.equal("10.71.0.9 5");
      }
    });

    it(`what pods say to pods goes ${isShort ? "past" : "by"} the gateways' routes, and to nodes by them`, async () => {
      const gateways = [gatewayA, gatewayB];
      const routed = () => Promise.all(gateways.map(forwarded));
      for (const [from, to] of [
        [podA1, "10.71.0.5"],
        [podA2, "10.71.0.5"],
        [podB, "10.68.0.5"],
      ] as const) {
        const before = await routed();
        await call(from, "tcp", to, 8080, 3_000_000);
        for (const [index, count] of (await routed()).entries()) {
          const packets = count - (before[index] ?? 0);
          if (isShort) expect(packets).to.be.within(1, 5);
          else expect(packets).to.be.greaterThan(50);
        }
      }
      const [before] = await routed();
      expect(await call(a1.namespace, "udp", "10.71.0.5", 8080)).to.equal("10.69.0.0 5");
      expect((await routed())[0]).to.be.greaterThan(before ?? 0);
    });

    it("two nodes may use the same source port at the same time", async () => {
      // One that the kernel gives to nobody by itself.
      const script = `const s = require("node:net").connect({ host: "10.71.0.5", port: 8080, localPort: 20000 }, () => s.end("x"));
      s.on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code)); setTimeout(() => process.exit(0), 20_000).unref();`;
      const answers = await Promise.all(
        [a1, a2].map(({ namespace }) => namespace.run(process.execPath, ["-e", script])),
      );
      expect(answers.map((text) => text.trim())).to.deep.equal(["10.69.0.0 x", "10.69.0.0 x"]);
    });

    it("the peer reaches nothing but pods and lent addresses, from nothing but its own ranges", async () => {
      const table = new NftablesTable(gatewayB.run);
      // A gateway gone bad: it sends to something outside B's pods, from an address that is not A's, and to the gateway itself.
      await gatewayA.sh(`
      ip addr add 203.0.113.7/32 dev lo; ip addr add 10.244.77.7/32 dev lo
      ip route add default dev liqo-tunnel table 5; ip rule add priority 4 iif lo to 192.0.2.0/24 lookup 5
      ip rule add priority 4 iif lo to 10.244.0.0/16 lookup 5`);
      const send = (from: string, to: string) => gatewayA.run(process.execPath, ["-e", SEND, from, to]);
      await send("203.0.113.7", "10.244.0.5");
      await send("10.244.77.7", "192.0.2.1");
      await send("169.254.18.2", "169.254.18.1");
      await gatewayA.sh("ip rule del priority 4; ip rule del priority 4; ip addr flush dev lo");
      // On their way they pass two processes, which take their time.
      await until("one packet of each", 20_000, async () => {
        expect(await table.counters()).to.deep.equal({
          "foreign-source": 1,
          "foreign-destination": 1,
          "gateway-access": 1,
          "handshake-requests": 0,
          "link-access": 0,
        });
        return true;
      });
      expect(await told(table)).to.deep.equal(ONE_OF_EACH);
      // Written anew, the rules count from nothing, and what is told goes on.
      await table.apply(gatewayRuleset({ ...stateB, mappings: [] }));
      await table.apply(gatewayRuleset(stateB));
      expect(await new NftablesTable(gatewayB.run).counters()).to.deep.include({ "foreign-source": 0 });
      expect(await told(table)).to.deep.equal(ONE_OF_EACH);
    });

    it("the peer reaches no node by its address among the pods', but for what is lent to it", async () => {
      const state = fabricState(1, 21, calledByB, GATEWAY_B);
      const [host] = b1.bridge.match(/\d+$/) ?? [];
      const ask = (protocol: "tcp" | "udp", patienceMs?: number) =>
        call(podA2, protocol, `10.71.0.${host}`, 8080, 5, patienceMs);
      // A Service's port on the node leads to a pod, and is the node's all the same.
      await b1.namespace.sh(
        `nft add rule ip cni nodeport ip daddr ${b1.bridge} tcp dport 31001 dnat to 10.244.0.5:8080`,
      );
      const refused = [
        ask("tcp", SILENCE_MS),
        ask("udp", SILENCE_MS),
        call(podA2, "tcp", `10.71.0.${host}`, 31_001, 5, SILENCE_MS),
      ];
      expect(await Promise.all(refused)).to.deep.equal(["timeout", "timeout", "timeout"]);
      const counters = await new NftablesTable(b1.namespace.run).counters();
      expect(counters["node-access"]).to.be.greaterThan(2);
      await applyFabric(b1.namespace, { ...state, lentTargets: [b1.bridge] });
      expect(await Promise.all([ask("tcp"), ask("udp")])).to.deep.equal(["10.68.1.5 5", "10.68.1.5 5"]);
      await applyFabric(b1.namespace, state);
    });

    it("the peer reaches no gateway by its pod's address, whose links and replicas ask nobody who they are", async () => {
      await Promise.all([echoServer(gatewayB, 12_347), echoServer(gatewayB, 6_092)]);
      const refusals = async () => (await new NftablesTable(b1.namespace.run).counters())["node-access"] ?? 0;
      // Within the cluster they answer.
      expect(await call(podB, "tcp", GATEWAY_B, 12_347)).to.equal("10.244.0.5 5");
      const before = await refusals();
      const asked = [
        call(podA2, "tcp", "10.71.0.10", 12_347, 5, SILENCE_MS),
        call(podA2, "udp", "10.71.0.10", 6_091, 5, SILENCE_MS),
        call(podA2, "udp", "10.71.0.10", 6_092, 5, SILENCE_MS),
      ];
      expect(await Promise.all(asked)).to.deep.equal(["timeout", "timeout", "timeout"]);
      expect(await refusals()).to.be.greaterThan(before + 2);
    });

    it("a pod puts nothing into a node's link, which asks nobody who they are, while nodes' addresses are known", async () => {
      const spoofed = "10.244.1.77";
      // As the node of the second link would send, to a gateway on the pod's own node: no masquerading makes a node's address of the pod's. A device that speaks IPv6 says more.
      await podA1.sh(`
        echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
        ip link add forged address ${hardwareAddress(12, "node")} type vxlan id 12 remote ${GATEWAY_A} dstport 6091 nolearning noudpcsum
        ip addr add ${spoofed}/32 dev forged; ip link set forged up
        ip neigh add 10.80.0.9 lladdr ${hardwareAddress(12, "gateway")} dev forged nud permanent
        ip route add 10.71.0.5 via 10.80.0.9 dev forged onlink src ${spoofed}`);
      await podB.sh(`nft -f - <<END
table ip seen {
  counter forged { }
  chain input { type filter hook input priority 0; ip saddr 10.68.1.77 counter name forged; }
}
END`);
      const seen = async () => {
        const text = await podB.sh("nft -j list counter ip seen forged");
        return (JSON.parse(text) as { nftables: { counter?: { packets: number } }[] }).nftables[1]?.counter?.packets;
      };
      const inject = () => podA1.run(process.execPath, ["-e", SEND, spoofed, "10.71.0.5"]);
      const table = new NftablesTable(gatewayA.run);
      await inject();
      await until(
        "the guard to count it",
        20_000,
        async () => (await table.counters())["link-access"] === 1 || undefined,
      );
      expect(await seen()).to.equal(0);
      // Where a node has told nothing, it could be anybody: what has passed passes.
      await applyGateways({ ...stateA, linkSources: undefined });
      await inject();
      await until("the forged packet to arrive", 20_000, async () => (await seen()) === 1 || undefined);
      await linkDirectly();
      await podA1.sh("ip link del forged");
      await podB.sh("nft delete table ip seen");
    });

    /** Another address of a pod's, from which it speaks to a range. */
    async function giveSecond({ namespace, bridge }: TestNode, pod: Namespace, address: string, to: string) {
      await pod.sh(`ip addr add ${address}/32 dev eth0 && ip route add ${to} via ${bridge} src ${address}`);
      await namespace.run("ip", ["route", "add", address, "dev", "cni0"]);
    }

    it("both clusters may have several pod ranges, each of them equal to one of the other's", async () => {
      const SECOND = "10.245.0.0/16";
      const second = { a: pair(SECOND, "10.72.0.0/16"), b: pair(SECOND, "10.66.0.0/16") };
      const gateway = (state: GatewayState, more: RangePair[]): GatewayState => ({
        ...state,
        local: { ...state.local, pods: [PODS, SECOND] },
        remote: { ...state.remote, pods: [...state.remote.pods, ...more] },
        nodes: state.nodes.map((one, index) => ({ ...one, pods: [...one.pods, `10.245.${index}.0/24`] })),
      });
      const fabric = (state: FabricState, more: RangePair[]): FabricState => ({
        ...state,
        pods: [PODS, SECOND],
        links: state.links.map((link) => ({
          ...link,
          remoteRanges: [...link.remoteRanges, ...more.map(({ mapped }) => mapped)],
        })),
      });
      await Promise.all([
        applyGateways(gateway(stateA, second.a), gateway(stateB, second.b)),
        applyFabric(a2.namespace, fabric(fabricState(2, 12, calledByA), second.a)),
        applyFabric(b1.namespace, fabric(fabricState(1, 21, calledByB, GATEWAY_B), second.b)),
      ]);
      await Promise.all([
        giveSecond(a2, podA2, "10.245.1.5", "10.72.0.0/16"),
        giveSecond(b1, podB, "10.245.0.5", "10.66.0.0/16"),
      ]);
      for (const protocol of ["tcp", "udp"] as const) {
        expect(await call(podA2, protocol, "10.72.0.5", 8080)).to.equal("10.66.1.5 5");
        expect(await call(podB, protocol, "10.66.1.5", 8080)).to.equal("10.72.0.5 5");
        expect(await call(podA2, protocol, "10.71.0.5", 8080)).to.equal("10.68.1.5 5");
      }
    });

    it("applying the same state again changes nothing, another one leaves nothing behind", async () => {
      const state = fabricState(2, 12, calledByA);
      const { run } = a2.namespace;
      const options = { run, table: new NftablesTable(run) };
      await apply(options, state);
      expect(await apply(options, state)).to.equal(false);
      await a2.namespace.sh("ip link del liqo.gatewaypod");
      expect(await apply(options, state)).to.equal(true);
      expect(await removeFabric(run, new NftablesTable(run))).to.equal(true);
      expect(await removeFabric(run, options.table)).to.equal(false);
      const left = await a2.namespace.sh(
        "ip rule; ip -d link show type vxlan; ip route show table all; nft list tables",
      );
      expect(left).not.to.match(/liqo|27753|10\.71/);
      await applyFabric(a2.namespace, state);
      await applyGateway(gatewayA.run, stateA, isShort);
      expect(await call(podA2, "tcp", "10.71.0.5", 8080)).to.equal("10.68.1.5 5");
    });
  };
}
