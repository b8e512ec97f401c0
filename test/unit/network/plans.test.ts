import { expect } from "chai";
import { LinkNews } from "../../../agent/fabric/link-news.js";
import { directLinks, fabricLinks, fabricRouting, fabricRuleset } from "../../../agent/fabric/plan.js";
import { collectFabricState } from "../../../agent/fabric/collect-state.js";
import {
  collectState,
  ignoresPodRanges,
  lentAddresses,
  type GatewayObjects,
} from "../../../agent/gateway/collect-state.js";
import { parseGatewayArguments } from "../../../agent/gateway/arguments.js";
import { fastPathText } from "../../../agent/gateway/fast-path.js";
import { gatewayDirectEnd, gatewayLinks, gatewayRouting, withDirectLink } from "../../../agent/gateway/routing.js";
import { gatewayRuleset } from "../../../agent/gateway/ruleset.js";
import {
  directCommands,
  disjointRanges,
  hardwareAddress,
  routeCommands,
  ruleCommands,
  vxlanCommands,
} from "../../../agent/net/index.js";
import {
  ConfigurationResource,
  GeneveTunnelResource,
  IPResource,
  InternalFabricResource,
  InternalNodeResource,
  lentPart,
} from "../../../agent/api/index.js";

const args = parseGatewayArguments(
  [
    "--name=b",
    "--namespace=t",
    "--remote-cluster-id=b",
    "--gateway-uid=u",
    "--mode=client",
    "--mtu=1340",
    "--endpoint-addresses=192.0.2.1,",
  ],
  { NODE_NAME: "n1" },
);

const configuration = ConfigurationResource.build({
  metadata: { name: "b", namespace: "t" },
  spec: {
    local: { cidr: { pod: ["10.244.0.0/16"], external: ["10.70.0.0/16"] } },
    remote: { cidr: { pod: ["10.244.0.0/16", "10.9.0.0/16"], external: ["10.70.0.0/16"] } },
  },
  status: { remote: { cidr: { pod: ["10.71.0.0/16", "10.9.0.0/16"], external: ["10.68.0.0/16"] } } },
});

const fabric = InternalFabricResource.build({
  metadata: { name: "b", namespace: "t" },
  spec: {
    mtu: 1340,
    gatewayIP: "10.244.0.9",
    remoteCIDRs: ["10.71.0.0/16", "10.68.0.0/16"],
    interface: { node: { name: "liqo.gggggggggg" }, gateway: { ip: "10.80.0.3" } },
  },
});

const tunnel = (node: string, id: number) =>
  GeneveTunnelResource.build({
    metadata: { name: `b-${node}`, namespace: "t" },
    spec: { id, internalFabricRef: { name: "b" }, internalNodeRef: { name: node } },
  });

const internalNode = (name: string, ip: string, address: string) =>
  InternalNodeResource.build({
    metadata: { name },
    spec: { interface: { gateway: { name: `liqo.${name}` }, node: { ip } } },
    status: { nodeIP: { local: address, remote: address } },
  });

const ip = (lent: string, target: string, labels = {}) =>
  IPResource.build({ metadata: { name: lent, namespace: "x", labels }, spec: { ip: target }, status: { ip: lent } });

const objects: GatewayObjects = {
  configuration,
  fabric,
  tunnels: [tunnel("n2", 2), tunnel("n1", 1), tunnel("gone", 3)],
  internalNodes: [internalNode("n1", "10.80.0.1", "192.0.2.11"), internalNode("n2", "10.80.0.2", "192.0.2.12")],
  nodes: [
    { metadata: { name: "n1" }, spec: { podCIDRs: ["10.244.1.0/24", "fd00::/64"] } },
    { metadata: { name: "n2" } },
  ],
  ips: [
    ip("10.70.0.4", "198.51.100.9"),
    ip("10.70.0.5", "10.244.2.7"),
    ip("10.70.0.6", "192.0.2.1", { "networking.liqo.io/host-unreachable": "true" }),
    ip("10.99.0.1", "192.0.2.1"),
  ],
  podAddresses: (node) => (node === "n2" ? ["10.244.2.7"] : []),
};
const state = collectState(args, objects);

describe("what a gateway does, from custom resources", () => {
  it("knows by which addresses nodes send once all that have a link have told, and refuses no others than pods'", () => {
    const told = (...addresses: string[][]): GatewayObjects => ({
      ...objects,
      tunnels: objects.tunnels.slice(0, 2),
      internalNodes: objects.internalNodes.map((node, index) => ({
        ...node,
        status: { ...node.status, addresses: addresses[index] },
      })),
    });
    const all = collectState(args, told(["192.0.2.11", "10.244.1.1"], ["192.0.2.12"]));
    expect(all.linkSources).to.deep.equal(["10.244.1.1", "192.0.2.11", "192.0.2.12"]);
    expect(gatewayRuleset(all)).to.contain(
      'iifname != "liqo*" udp dport 6091 ip saddr { 10.244.0.0/16 } ip saddr != { 10.244.1.1 } counter name "link-access" drop',
    );
    for (const some of [
      collectState(args, told(["192.0.2.11"])),
      collectState(args, told(["192.0.2.11"], [])),
      state,
    ]) {
      expect(some.linkSources).to.equal(undefined);
      expect(gatewayRuleset(some)).not.to.contain("udp dport 6091");
    }
  });

  it("knows its nodes, its mappings and its pairs of ranges", () => {
    expect(state.nodes.map(({ name, pods, isOwn }) => [name, pods, isOwn])).to.deep.equal([
      ["n1", ["10.244.1.0/24"], true],
      ["n2", ["10.244.2.7"], false],
    ]);
    expect(state.mappings).to.deep.equal([
      { lent: "10.70.0.4", target: "198.51.100.9" },
      { lent: "10.70.0.5", target: "10.244.2.7" },
    ]);
    expect(state.remote.pods).to.have.length(2);
  });

  it("links, routes and rules", () => {
    expect(gatewayLinks(state)[0]).to.deep.include({
      name: "liqo.n1",
      id: 1,
      remote: "192.0.2.11",
      peerAddress: "10.80.0.1",
    });
    const { rules, tables } = gatewayRouting(state);
    expect(rules.map(({ incoming }) => incoming)).to.deep.equal(["liqo-tunnel", "liqo.n1", "liqo.d1", "liqo.n2"]);
    expect(
      tables[0]?.routes.map(({ destination, device, blackhole }) => [destination, device ?? blackhole]),
    ).to.deep.equal([
      ["10.80.0.1", "liqo.n1"],
      ["10.80.0.2", "liqo.n2"],
      ["10.244.1.0/24", "liqo.n1"],
      ["10.244.2.7", "liqo.n2"],
      ["198.51.100.9", "liqo.n1"],
      ["default", true],
    ]);
    expect(tables[1]?.routes.map(({ destination }) => destination)).to.deep.equal([
      "10.244.0.0/16",
      "10.9.0.0/16",
      "10.70.0.0/16",
      "default",
    ]);
  });

  it("reaches its own node by the direct link once packets pass there, and else as any other", () => {
    expect(gatewayDirectEnd(state)).to.include({ name: "liqo.d1", address: "10.80.0.3", peerAddress: "10.80.0.1" });
    expect(gatewayDirectEnd({ ...state, linkAddress: undefined })).to.equal(undefined);
    const [routes] = gatewayRouting(withDirectLink(state, "liqo.d1")).tables.map(({ routes }) => routes);
    const ways = (to: string) =>
      routes?.filter(({ destination }) => destination === to).map(({ device, metric }) => [device, metric]);
    expect(ways("10.244.1.0/24")).to.deep.equal([
      ["liqo.d1", undefined],
      ["liqo.n1", 1],
    ]);
    expect(ways("10.244.2.7")).to.deep.equal([["liqo.n2", undefined]]);
  });

  it("hands on what pods say to pods by the shortest way, and nothing else", () => {
    const text = fastPathText(withDirectLink(state, "liqo.d1")) ?? "";
    expect(text).to.contain('hook ingress devices = { "liqo.n1", "liqo.d1", "liqo.n2" }');
    const toPeer = (rule: string) => `ip saddr { 10.244.0.0/16 } ${rule}fwd ip to 169.254.18.1 device "liqo-tunnel"`;
    expect(text).to.contain(toPeer("ip daddr 10.71.0.0/16 ip daddr set ip daddr & 0.0.255.255 | 10.244.0.0 "));
    expect(text).to.contain(toPeer("ip daddr 10.9.0.0/16 "));
    const fromPeer = "ip daddr { 10.244.1.0/24 } ip saddr set ip saddr & 0.0.255.255 | 10.71.0.0 fwd ip to 10.80.0.1";
    expect(text).to.contain(`ip saddr 10.244.0.0/16 ${fromPeer} device "liqo.d1"`);
    expect(text).to.contain('ip saddr 10.9.0.0/16 ip daddr { 10.244.2.7 } fwd ip to 10.80.0.2 device "liqo.n2"');
    // An address is lent to this pod, which needs what is remembered, both ways.
    expect(text).to.contain("ip saddr { 10.244.2.7 } accept").and.to.contain("ip daddr { 10.244.2.7 } accept");
    expect(text).not.to.contain("10.70.");
    expect(fastPathText(state)).not.to.contain("liqo.d");
    for (const lacking of [
      { nodes: [] },
      { local: { pods: [], external: [] } },
      { remote: { pods: [], external: [] } },
    ])
      expect(fastPathText({ ...state, ...lacking })).to.equal(undefined);
  });

  it("translates only what differs", () => {
    const text = gatewayRuleset(state);
    expect(text).to.contain('iifname "liqo.*" ip daddr 10.71.0.0/16 dnat ip prefix to 10.244.0.0/16');
    expect(text).to.contain('iifname "liqo-tunnel" ip saddr 10.70.0.0/16 snat ip prefix to 10.68.0.0/16');
    expect(text).not.to.contain("prefix to 10.9.0.0");
    expect(text).to.contain('iifname "liqo.*" oifname "liqo-tunnel" ip saddr != { 10.244.0.0/16 } snat to 10.70.0.0');
    expect(text).to.contain("dnat to ip daddr map { 10.70.0.4 : 198.51.100.9, 10.70.0.5 : 10.244.2.7 }");
  });

  it("routes to each pod where the CNI ignores the nodes' ranges, and never to a range", () => {
    const addresses: Record<string, string[]> = { n1: ["10.244.235.193", "10.244.235.200"], n2: ["10.244.90.7"] };
    const ranges = (podCIDRs: string[]) => ({ spec: { podCIDRs } });
    const nodes = [
      { metadata: { name: "n1" }, ...ranges(["10.244.1.0/24"]) },
      { metadata: { name: "n2" }, ...ranges(["10.244.2.0/24"]) },
    ];
    const podAddresses = (node: string): string[] => addresses[node] ?? [];
    const routes = (ignoresPodRanges: boolean | undefined) =>
      gatewayRouting(collectState(args, { ...objects, nodes, podAddresses, ignoresPodRanges, ips: [] }))
        .tables[0]?.routes.filter(({ via }) => via)
        .map(({ destination, via, device }) => [destination, via, device]);
    expect(routes(true)).to.deep.equal([
      ["10.244.235.193", "10.80.0.1", "liqo.n1"],
      ["10.244.235.200", "10.80.0.1", "liqo.n1"],
      ["10.244.90.7", "10.80.0.2", "liqo.n2"],
    ]);
    for (const known of [false, undefined])
      expect(routes(known)).to.deep.equal([
        ["10.244.1.0/24", "10.80.0.1", "liqo.n1"],
        ["10.244.2.0/24", "10.80.0.2", "liqo.n2"],
      ]);
  });

  it("lets nothing pass before the ranges are known", () => {
    const empty = collectState(args, { tunnels: [], internalNodes: [], nodes: [], ips: [], podAddresses: () => [] });
    expect(gatewayRuleset(empty)).to.match(/\n\s*counter name "foreign-source" drop/);
    expect(gatewayRouting(empty).tables.map(({ routes }) => routes.length)).to.deep.equal([1, 1]);
  });

  it("refuses wrong arguments by name", () => {
    expect(() => parseGatewayArguments(["--name=b"])).to.throw("--namespace is required");
    const some = ["--name=b", "--namespace=t", "--remote-cluster-id=b", "--gateway-uid=u"];
    expect(() => parseGatewayArguments([...some, "--mode=both"])).to.throw('--mode: "both"');
    expect(() => parseGatewayArguments([...some, "--mode=server", "--mtu=70000"])).to.throw("--mtu");
  });
});

describe("whether a CNI ignores the nodes' pod ranges, by the gateway's own addresses", () => {
  const node = (podCIDRs?: string[], podCIDR?: string) => ({ metadata: { name: "n1" }, spec: { podCIDRs, podCIDR } });
  const range = ["192.168.0.0/24"];
  const cases: [what: string, own: string[], node: object | undefined, isIgnored: boolean | undefined][] = [
    ["in the range", ["192.168.0.9"], node(range), false],
    ["in the only range of an older kind", ["192.168.0.9"], node(undefined, "192.168.0.0/24"), false],
    ["in the second of several ranges", ["192.168.7.9"], node([...range, "192.168.7.0/24"]), false],
    ["in the IPv4 range of a node with both families", ["192.168.0.9"], node(["fd00::/64", ...range]), false],
    ["in the range, with one of another network", ["172.16.0.2", "192.168.0.9"], node(range), false],
    ["of the node's own network, with its bridge", ["192.0.2.11", "192.168.0.1"], node(range), false],
    ["of the node's own network alone, where a route for each pod is right, too", ["192.0.2.11"], node(range), true],
    ["of a block elsewhere", ["192.168.235.193"], node(range), true],
    ["beside several ranges", ["192.168.235.193"], node([...range, "192.168.7.0/24", "fd00::/64"]), true],
    ["of a node that has no range", ["192.168.235.193"], node(), true],
    ["of a node with a range of the other family alone", ["192.168.235.193"], node(["fd00::/64"]), true],
    ["of a node that is not known", ["192.168.235.193"], undefined, undefined],
    ["not there", [], node(range), undefined],
  ];
  for (const [what, own, ownNode, isIgnored] of cases)
    it(`${what}: ${isIgnored ?? "not known"}`, () => expect(ignoresPodRanges(ownNode, own)).to.equal(isIgnored));
});

describe("what a node does, from custom resources", () => {
  const objects = {
    internalNode: internalNode("n1", "10.80.0.1", "192.0.2.11"),
    fabrics: [fabric],
    tunnels: [tunnel("n1", 1)],
    podNetworks: [],
    ips: [],
  };

  it("links, routes and rules", () => {
    const node = collectFabricState(objects);
    if (!node) throw new Error("nothing to do");
    expect(fabricLinks(node)[0]).to.deep.include({
      name: "liqo.gggggggggg",
      id: 1,
      remote: "10.244.0.9",
      side: "node",
    });
    expect(fabricRouting(node).tables[0]?.routes[0]).to.deep.equal({
      destination: "10.71.0.0/16",
      via: "10.80.0.3",
      device: "liqo.gggggggggg",
      source: "10.80.0.1",
    });
    expect(fabricRuleset({ ...node, pods: ["10.244.0.0/16"] })).to.contain("snat ip prefix to 10.244.0.0/16");
  });

  it("goes by direct links where packets pass, and by the others when those are gone", () => {
    const node = collectFabricState(objects);
    if (!node) throw new Error("nothing to do");
    expect(directLinks(node, [])[0]).to.include({ name: "liqo.d1", netns: undefined, gateway: "10.244.0.9" });
    const ports = [{ address: "10.244.0.9", device: "veth7", netns: 4 }];
    expect(directLinks(node, ports)[0]?.netns).to.equal(4);
    const { routes } = fabricRouting(node, [], ["liqo.d1", "liqo.d2"]).tables[0] ?? {};
    expect(routes?.map(({ destination, device, metric }) => [destination, device, metric])).to.deep.equal([
      ["10.71.0.0/16", "liqo.d1", undefined],
      ["10.71.0.0/16", "liqo.gggggggggg", 1],
      ["10.68.0.0/16", "liqo.d1", undefined],
      ["10.68.0.0/16", "liqo.gggggggggg", 1],
    ]);
  });

  it("hears of its direct links and of where gateways are, and of nothing else that happens on the node", () => {
    const news = new LinkNews(() => ["10.244.0.9"]);
    const heard = (line: string): boolean => news.hear(line);
    expect(heard("11: liqo.d5@if9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1340")).to.equal(true);
    expect(heard("Deleted 11: liqo.d5@NONE: <BROADCAST,MULTICAST> mtu 1340")).to.equal(true);
    expect(heard("12: veth12ab@if2: <BROADCAST,UP> mtu 1500 master cni0")).to.equal(false);
    expect(heard("12: liqo.dabcdefghi: <BROADCAST,UP> mtu 1340")).to.equal(false);
    const gateway = "10.244.0.9 dev cni0 lladdr 02:00:00:00:00";
    expect(heard("10.244.0.8 dev cni0 lladdr 02:00:00:00:00:01 REACHABLE")).to.equal(false);
    expect(heard("10.244.0.9 dev cni0 FAILED")).to.equal(false);
    expect([
      heard(`${gateway}:01 DELAY`),
      heard(`${gateway}:01 REACHABLE`),
      heard(`${gateway}:02 STALE`),
    ]).to.deep.equal([true, false, true]);
  });

  it("lets peers reach what is lent to them, and nothing that only has an address", () => {
    const unreachable = { "networking.liqo.io/host-unreachable": "true" };
    const ips = [ip("10.70.0.5", "192.0.2.9"), ip("10.70.0.6", "192.0.2.8", unreachable), ip("", "192.0.2.7")];
    expect(collectFabricState({ ...objects, ips })?.lentTargets).to.deep.equal(["192.0.2.9"]);
  });

  it("goes by nothing else of what is lent than is kept of it, and neither does a gateway", () => {
    const masqueraded = { ...ip("10.70.0.7", "192.0.2.7"), spec: { ip: "192.0.2.7", masquerade: true } };
    const unreachable = ip("10.70.0.6", "192.0.2.8", { "networking.liqo.io/host-unreachable": "true" });
    const ending = { ...ip("10.70.0.8", "192.0.2.6") };
    ending.metadata = { ...ending.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    const ips = [ip("10.70.0.5", "192.0.2.9"), masqueraded, unreachable, ending, ip("", "192.0.2.5")];
    const node = collectFabricState({ ...objects, ips });
    expect(node?.masqueraded).to.have.length(1);
    expect(node?.lentTargets).to.have.length(2);
    expect(collectFabricState({ ...objects, ips: ips.map(lentPart) })).to.deep.equal(node);
    const lent = lentAddresses({ configuration, ips });
    expect(lent).to.have.length(2);
    expect(lentAddresses({ configuration, ips: ips.map(lentPart) })).to.deep.equal(lent);
  });

  it("does nothing without gateways", () => {
    expect(collectFabricState({ ...objects, fabrics: [] })).to.equal(undefined);
    expect(collectFabricState({ ...objects, internalNode: undefined })).to.equal(undefined);
  });
});

describe("differences between what is and what should be", () => {
  const link = {
    name: "liqo.x",
    id: 0x010203,
    remote: "192.0.2.1",
    mtu: 1340,
    side: "node" as const,
    address: "10.80.0.1",
    peerAddress: "10.80.0.3",
  };
  const present = {
    links: [
      {
        ifname: "liqo.x",
        mtu: 1340,
        address: hardwareAddress(link.id, "node"),
        flags: ["UP"],
        linkinfo: { info_data: { id: link.id, remote: "192.0.2.1", port: 6091 } },
      },
    ],
    addresses: [{ ifname: "liqo.x", addr_info: [{ family: "inet", local: "10.80.0.1", prefixlen: 32 }] }],
    neighbours: [{ dst: "10.80.0.3", dev: "liqo.x", lladdr: "02:6c:01:01:02:03" }],
  };

  it("of links", () => {
    expect(vxlanCommands([link], present)).to.deep.equal([]);
    expect(vxlanCommands([{ ...link, mtu: 1400 }], present)).to.deep.equal(["link set dev liqo.x mtu 1400"]);
    expect(vxlanCommands([{ ...link, remote: "192.0.2.9" }], present)).to.deep.equal([
      `link set dev liqo.x type vxlan id ${link.id} remote 192.0.2.9`,
    ]);
    expect(vxlanCommands([], present)).to.deep.equal(["link del dev liqo.x"]);
    expect(vxlanCommands([link], { links: [], addresses: [], neighbours: [] })).to.have.length(4);
  });

  it("of direct links", () => {
    const direct = {
      ...{ name: "liqo.d5", id: 5, mtu: 1340, side: "node" as const, gateway: "10.244.0.9", netns: 4 },
      ...{ address: "10.80.0.1", peerAddress: "10.80.0.3" },
    };
    const there = {
      links: [
        {
          ...{ ifname: "liqo.d5", mtu: 1340, address: hardwareAddress(5, "node"), flags: ["UP", "NO-CARRIER"] },
          ...{ ifalias: "10.244.0.9", link_netnsid: 4 },
        },
      ],
      addresses: [{ ifname: "liqo.d5", addr_info: [{ family: "inet", local: "10.80.0.1", prefixlen: 32 }] }],
      neighbours: [{ dst: "10.80.0.3", dev: "liqo.d5", lladdr: hardwareAddress(5, "gateway") }],
    };
    const nothing = { links: [], addresses: [], neighbours: [] };
    expect(directCommands([direct], there)).to.deep.equal([]);
    expect(directCommands([{ ...direct, netns: undefined }], there)).to.deep.equal([]);
    expect(directCommands([{ ...direct, netns: undefined }], nothing)).to.deep.equal([]);
    const [creation, ...rest] = directCommands([direct], nothing);
    expect(creation).to.equal(
      `link add name liqo.d5 address ${hardwareAddress(5, "node")} mtu 1340 link-netnsid 4 type veth ` +
        `peer name liqo.d5 address ${hardwareAddress(5, "gateway")} mtu 1340`,
    );
    expect(rest).to.have.length(4);
    // The address is another pod's, or the pod another one.
    for (const moved of [{ gateway: "10.244.0.7" }, { netns: 6 }])
      expect(directCommands([{ ...direct, ...moved }], there))
        .to.have.length(6)
        .and.to.include("link del dev liqo.d5");
    expect(directCommands([], there)).to.deep.equal(["link del dev liqo.d5"]);
  });

  it("of routes", () => {
    const routes = [{ destination: "10.71.0.0/16", via: "10.80.0.3", device: "liqo.x", source: "10.80.0.1" }];
    const there = [{ dst: "10.71.0.0/16", gateway: "10.80.0.3", dev: "liqo.x", prefsrc: "10.80.0.1" }];
    expect(routeCommands(7, routes, there)).to.deep.equal([]);
    expect(routeCommands(7, [], there)).to.deep.equal(["route del 10.71.0.0/16 table 7"]);
    expect(routeCommands(7, [{ destination: "default", blackhole: true }], [])).to.deep.equal([
      "route replace blackhole default table 7 proto 76",
    ]);
    const two = [...routes, { ...routes[0]!, device: "liqo.y", metric: 1 }];
    const second = { ...there[0]!, dev: "liqo.y", metric: 1 };
    expect(routeCommands(7, two, [...there, second])).to.deep.equal([]);
    expect(routeCommands(7, routes, [...there, second])).to.deep.equal(["route del 10.71.0.0/16 metric 1 table 7"]);
    expect(routeCommands(7, two, there)).to.deep.equal([
      "route replace 10.71.0.0/16 metric 1 via 10.80.0.3 dev liqo.y onlink src 10.80.0.1 table 7 proto 76",
    ]);
  });

  it("of rules, leaving others' alone", () => {
    const others = { priority: 480, table: "27753" };
    const ours = { ...others, protocol: "76" };
    expect(ruleCommands([{ priority: 480, table: 27753 }], [ours])).to.deep.equal([]);
    expect(ruleCommands([], [others])).to.deep.equal([]);
    expect(ruleCommands([{ priority: 480, table: 27753 }], [ours, ours])).to.have.length(1);
    expect(ruleCommands([], [ours])).to.deep.equal(["rule del priority 480 lookup 27753 protocol 76"]);
  });

  it("ranges within others are left out of sets", () => {
    expect(disjointRanges(["10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8", "192.0.2.0/24"])).to.deep.equal([
      "10.0.0.0/8",
      "192.0.2.0/24",
    ]);
  });
});
