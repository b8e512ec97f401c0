import { expect } from "chai";
import { applyFabric, removeFabric } from "../../../agent/fabric/apply.js";
import type { FabricState } from "../../../agent/fabric/state.js";
import { NftablesTable, applyVxlan, ipQuery } from "../../../agent/net/index.js";
import { call, echoServer } from "./support/echo.js";
import { Namespace } from "./support/namespaces.js";
import { TestNode } from "./support/site.js";

const GATEWAY = "10.244.7.9";
const NODE = "10.244.7.1";
/** In the remote range. */
const SERVED = "10.71.0.5";
const PORT = 8080;
const LARGE = 1_000_000;

const WITHOUT_ADDRESS: FabricState = {
  linkAddress: "10.80.0.1",
  pods: ["10.244.0.0/16"],
  links: [
    {
      device: "liqo.gatewaypod",
      id: 31,
      gateway: GATEWAY,
      gatewayLinkAddress: "10.80.0.9",
      mtu: 1340,
      remoteRanges: ["10.71.0.0/16"],
    },
  ],
  lentTargets: [],
  masqueraded: [],
};
const STATE: FabricState = { ...WITHOUT_ADDRESS, localAddress: NODE };

describe("a gateway behind the bridge of its node", function () {
  this.timeout(60_000);
  let node: TestNode, gateway: Namespace;
  let untouched: string[];

  before(async function () {
    if (process.getuid?.() !== 0) this.skip();
    const wan = await Namespace.create("wan");
    await wan.sh("ip link add switch type bridge && ip link set switch up");
    node = await TestNode.create("n1", wan, "198.18.0.31", 7);
    await filter("0");
    // As some CNIs do it: by the interface, not by the destination.
    await node.namespace.sh(
      `nft 'add rule ip cni leave ip saddr ${node.podRange} oifname != { "cni0", "liqo.*" } masquerade'`,
    );
    gateway = await node.addPod("g1", GATEWAY);
    await applyVxlan(gateway.run, [
      {
        name: "liqo.node",
        id: 31,
        remote: NODE,
        mtu: 1340,
        side: "gateway",
        address: "10.80.0.9",
        peerAddress: "10.80.0.1",
      },
    ]);
    await gateway.sh(`ip route add 10.80.0.1 dev liqo.node; ip addr add ${SERVED}/32 dev lo`);
    await echoServer(gateway, PORT);
    untouched = await left();
    // A gateway asks the API server long before: so its node knows it.
    expect(await call(node.namespace, "udp", GATEWAY, PORT)).to.equal(`${NODE} 5`);
  });

  after(() => Namespace.closeAll());

  const filter = (mode: string): Promise<string> =>
    node.namespace.sh(`sysctl -qw net.ipv4.conf.all.rp_filter=${mode} net.ipv4.conf.cni0.rp_filter=${mode}`);

  const apply = (state: FabricState): Promise<boolean> =>
    applyFabric({ run: node.namespace.run, table: new NftablesTable(node.namespace.run) }, state);

  /** How many packets of the network the gateway gets when the node sends it a lot, with none lost. */
  async function packetsOfLarge(): Promise<number> {
    const start = await received();
    expect(await call(node.namespace, "tcp", SERVED, PORT, LARGE)).to.equal(`10.80.0.1 ${LARGE}`);
    return (await received()) - start;
  }

  async function received(): Promise<number> {
    const [link] = await ipQuery<{ stats64?: { rx?: { packets?: number } } }>(gateway.run, [
      "-s",
      "link",
      "show",
      "dev",
      "eth0",
    ]);
    return link?.stats64?.rx?.packets ?? 0;
  }

  /** What the fabric could leave on the node. */
  async function left(): Promise<string[]> {
    const { run } = node.namespace;
    const all = await Promise.all([
      run("ip", ["rule", "show"]),
      run("ip", ["-4", "neigh", "show", "nud", "permanent"]),
      run("ip", ["-4", "route", "show", "table", "all"]),
    ]);
    return all.flatMap((text) => text.trim().split("\n"));
  }

  const routesAtPorts = async (): Promise<string> =>
    (await node.namespace.run("ip", ["route", "show", "table", "27757"]).catch(() => "")).trim();

  it("gets what is encapsulated whole, not cut by the bridge", async () => {
    await apply(WITHOUT_ADDRESS);
    const throughBridge = await packetsOfLarge();
    await apply(STATE);
    expect(await routesAtPorts()).to.match(new RegExp(`^${GATEWAY} dev v\\d+ proto 76 scope link src ${NODE}$`));
    expect(throughBridge).to.be.greaterThan(LARGE / 1340);
    expect(await packetsOfLarge()).to.be.lessThan(throughBridge / 3);
  });

  it("is left as it is by a second pass, also once the bridge has forgotten it", async () => {
    await node.namespace.sh("ip neigh flush dev cni0; bridge fdb flush dev cni0 nopermanent");
    expect(await apply(STATE)).to.equal(true); // Its table is written by each new process.
    expect(await routesAtPorts()).to.contain(GATEWAY);
    expect(await call(node.namespace, "tcp", SERVED, PORT)).to.equal("10.80.0.1 5");
  });

  it("is reached through the bridge where a strict reverse path filter would refuse its answers", async () => {
    await filter("1");
    await apply(STATE);
    expect(await routesAtPorts()).to.equal("");
    expect(await call(node.namespace, "tcp", SERVED, PORT)).to.equal("10.80.0.1 5");
    expect(await left()).not.to.satisfy((lines: string[]) => lines.some((line) => line.includes(`${GATEWAY} dev v`)));
    await filter("0");
    await apply(STATE);
    expect(await routesAtPorts()).to.contain(GATEWAY);
  });

  it("leaves nothing behind when the fabric is taken off the node", async () => {
    const { run } = node.namespace;
    expect(await removeFabric(run, new NftablesTable(run))).to.equal(true);
    expect(await left()).to.deep.equal(untouched);
    expect(await removeFabric(run, new NftablesTable(run))).to.equal(false);
  });
});
