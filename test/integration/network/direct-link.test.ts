import { expect } from "chai";
import { applyFabric, removeFabric } from "../../../agent/fabric/apply.js";
import type { FabricState } from "../../../agent/fabric/state.js";
import { NftablesTable, applyGatewayEnd, ipQuery, readGatewayEnd, type LinkEnd } from "../../../agent/net/index.js";
import { until } from "../../clusters/support/wait.js";
import { call, echoServer } from "./support/echo.js";
import { Namespace } from "./support/namespaces.js";
import { TestNode } from "./support/site.js";

const GATEWAY = "10.244.7.9";
const NODE = "10.244.7.1";
const LINK = "liqo.d31";
/** In the remote range. */
const SERVED = "10.71.0.5";
const PORT = 8080;

const STATE: FabricState = {
  linkAddress: "10.80.0.1",
  localAddress: NODE,
  pods: ["10.244.0.0/16"],
  links: [
    {
      ...{ device: "liqo.gatewaypod", id: 31, gateway: GATEWAY, gatewayLinkAddress: "10.80.0.9", mtu: 1340 },
      remoteRanges: ["10.71.0.0/16"],
    },
  ],
  lentTargets: [],
  masqueraded: [],
};

const END: LinkEnd = {
  ...{ name: LINK, id: 31, mtu: 1340, side: "gateway" as const },
  ...{ address: "10.80.0.9", peerAddress: "10.80.0.1" },
};

describe("the direct link between a node and a gateway on it", function () {
  this.timeout(60_000);
  let node: TestNode, gateway: Namespace;
  let untouched: string;

  before(async function () {
    if (process.getuid?.() !== 0) this.skip();
    const wan = await Namespace.create("wan");
    await wan.sh("ip link add switch type bridge && ip link set switch up");
    node = await TestNode.create("n1", wan, "198.18.0.31", 7);
    untouched = await left();
    gateway = await newGateway();
  });

  after(() => Namespace.closeAll());

  /** A pod that its node knows, by what it says. */
  async function newGateway(): Promise<Namespace> {
    const pod = await node.addPod("gateway", GATEWAY);
    await pod.sh(`ip addr add ${SERVED}/32 dev lo`);
    await pod.run("bash", ["-c", `echo > /dev/udp/${NODE}/9`]);
    await echoServer(pod, PORT);
    return pod;
  }

  const apply = (): Promise<boolean> =>
    applyFabric({ run: node.namespace.run, table: new NftablesTable(node.namespace.run) }, STATE);

  const routes = async (): Promise<string[]> => {
    const text = await node.namespace.sh("ip route show table 27753");
    return [...text.matchAll(/dev (\S+)/g)].map(([, device = ""]) => device);
  };

  const links = (where: Namespace): Promise<string> => where.sh("ip -br link show type veth");

  /** What the fabric could leave on the node. */
  const left = (): Promise<string> =>
    node.namespace.sh("ip -br link show | grep liqo || true; ip rule show; nft list tables");

  /** As a gateway that knows such links does it in each pass. */
  async function bringUp(pod: Namespace): Promise<boolean> {
    const present = await readGatewayEnd(pod.run, END);
    if (present) await applyGatewayEnd(pod.run, END, present);
    if (present) await pod.run("ip", ["route", "replace", END.peerAddress, "dev", LINK]);
    return present?.isPassable ?? false;
  }

  it("is there for a gateway that may not know it, and is not used before that one has brought it up", async () => {
    await apply();
    expect(await links(node.namespace)).to.contain(LINK);
    expect(await links(gateway)).to.match(new RegExp(`${LINK}\\S*\\s+DOWN`));
    expect(await routes()).to.deep.equal(["liqo.gatewaypod"]);
  });

  it("is used by both from then on", async () => {
    expect(await bringUp(gateway)).to.equal(false);
    await until("both ends up", 20_000, async () => (await bringUp(gateway)) || undefined);
    await apply();
    expect(await routes()).to.deep.equal([LINK, "liqo.gatewaypod"]);
    expect(await call(node.namespace, "tcp", SERVED, PORT, 100_000)).to.equal("10.80.0.1 100000");
    const [link] = await ipQuery<{ stats64?: { rx?: { packets?: number } } }>(gateway.run, [
      "-s",
      "link",
      "show",
      LINK,
    ]);
    expect(link?.stats64?.rx?.packets).to.be.greaterThan(2);
    expect(await apply()).to.equal(true); // The table is written by each new process.
    expect(await routes()).to.deep.equal([LINK, "liqo.gatewaypod"]);
  });

  it("keeps its mark when somebody empties its end, which is mended", async () => {
    await gateway.sh(`ip addr flush dev ${LINK}; ip neigh flush dev ${LINK} nud permanent; ip link set ${LINK} down`);
    expect(await bringUp(gateway)).to.equal(false);
    await until("both ends up", 20_000, async () => (await bringUp(gateway)) || undefined);
    expect(await call(node.namespace, "tcp", SERVED, PORT)).to.equal("10.80.0.1 5");
  });

  it("goes with the gateway's pod, and leaves the routes by the encapsulated link at once", async () => {
    await gateway.close();
    await until("its end", 20_000, async () => !(await links(node.namespace)).includes(LINK) || undefined);
    expect(await routes()).to.deep.equal(["liqo.gatewaypod"]);
  });

  it("leads to the next gateway that has the address, and never to a network behind a port", async () => {
    const next = await newGateway();
    await node.namespace.sh(`
      port=$(bridge -o fdb show br cni0 | awk '/^${await hardwareAddress(next)} / { print $3; exit }')
      bridge fdb add 02:00:00:00:00:77 dev $port master dynamic`);
    await apply();
    expect(await links(node.namespace)).not.to.contain(LINK);
    await node.namespace.sh("bridge fdb flush dev cni0 nopermanent");
    await next.run("bash", ["-c", `echo > /dev/udp/${NODE}/9`]);
    await apply();
    expect(await links(next)).to.contain(LINK);
    await until("both ends up", 20_000, async () => (await bringUp(next)) || undefined);
    await apply();
    expect(await call(node.namespace, "tcp", SERVED, PORT)).to.equal("10.80.0.1 5");
  });

  it("leaves nothing behind when the fabric is taken off the node", async () => {
    const { run } = node.namespace;
    expect(await removeFabric(run, new NftablesTable(run))).to.equal(true);
    expect(await left()).to.equal(untouched);
  });

  async function hardwareAddress(pod: Namespace): Promise<string> {
    const [link] = await ipQuery<{ address?: string }>(pod.run, ["link", "show", "eth0"]);
    return link?.address ?? "";
  }
});
