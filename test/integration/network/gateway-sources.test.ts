import { expect } from "chai";
import type { PodSpec, PodStatus } from "kubernetes-types/core/v1";
import {
  GeneveTunnelResource,
  InternalFabricResource,
  InternalNodeResource,
  Labels,
} from "../../../agent/api/index.js";
import { parseGatewayArguments } from "../../../agent/gateway/arguments.js";
import { collectState } from "../../../agent/gateway/collect-state.js";
import { FROM_TUNNEL } from "../../../agent/gateway/constants.js";
import { ownAddresses, yieldOwnAddress } from "../../../agent/gateway/own-address.js";
import { gatewayLinks, gatewayRouting } from "../../../agent/gateway/routing.js";
import { GatewaySources } from "../../../agent/gateway/sources.js";
import { LevelLoop, applyRouting, applyVxlan, ipQuery } from "../../../agent/net/index.js";
import {
  NamespaceResource,
  NodeResource,
  PodResource,
  createLogger,
  type KubeClient,
} from "../../../agent/runtime/index.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { Namespace, connect } from "./support/namespaces.js";

const TENANT = "liqo-tenant-b";
const DEADLINE_MS = 40_000;

const args = parseGatewayArguments(
  ["--name=b", `--namespace=${TENANT}`, "--remote-cluster-id=b", "--gateway-uid=u", "--mode=server"],
  { NODE_NAME: "n1" },
);

/** The nodes, with the ranges that the controller manager gives them; links to the gateway are at .11 and .12. */
const NODES = { n1: "192.168.0.0/24", n2: "192.168.1.0/24" };
const RANGES = ["192.168.0.0/24 liqo.n1", "192.168.1.0/24 liqo.n2"];

describe("a gateway's routes to the pods, on a real API server", function () {
  this.timeout(180_000);
  let server: ApiServer;
  let client: KubeClient;
  let gateway: Namespace;
  let sources: GatewaySources | undefined;
  let loop: LevelLoop | undefined;

  before(async function () {
    this.timeout(START_LIMIT_MS);
    if (process.getuid?.() !== 0) this.skip();
    server = await startApiServer();
    client = server.client;
    await client.create(NamespaceResource, { metadata: { name: TENANT } });
    await client.create(
      InternalFabricResource,
      InternalFabricResource.build({
        metadata: { name: "b", namespace: TENANT },
        spec: {
          mtu: 1340,
          gatewayIP: "192.168.235.193",
          remoteCIDRs: ["10.71.0.0/16"],
          interface: { node: { name: "liqo.gateway" }, gateway: { ip: "10.80.0.3" } },
        },
      }),
    );
    for (const [index, [name, range]] of Object.entries(NODES).entries()) await addNode(index + 11, name, range);
    // Neither of them is one to route to, from the first pass on.
    await addPod("offloaded", "n2", { podIP: "10.71.0.9" }, {}, { [Labels.shadowPod]: "true" });
    await addPod("of-the-host", "n2", { podIP: "192.0.2.12" }, { hostNetwork: true });
  });

  afterEach(async () => {
    await loop?.stop();
    await sources?.stop();
    await Namespace.closeAll();
  });

  after(() => server?.stop());

  async function addNode(last: number, name: string, podCIDR: string): Promise<void> {
    await client.create(NodeResource, { metadata: { name }, spec: { podCIDR, podCIDRs: [podCIDR] } });
    const internalNode = InternalNodeResource.build({
      metadata: { name },
      spec: { interface: { gateway: { name: `liqo.${name}` }, node: { ip: `10.80.0.${last}` } } },
    });
    await client.create(InternalNodeResource, internalNode);
    const address = `192.0.2.${last}`;
    const status = { nodeIP: { local: address, remote: address } };
    await client.mergePatch(InternalNodeResource, { name }, { status }, { subresource: "status" });
    const tunnel = GeneveTunnelResource.build({
      metadata: { name: `b-${name}`, namespace: TENANT, labels: { [Labels.internalFabricName]: "b" } },
      spec: { id: last, internalFabricRef: { name: "b" }, internalNodeRef: { name } },
    });
    await client.create(GeneveTunnelResource, tunnel);
  }

  async function addPod(name: string, nodeName: string, status: PodStatus, spec: Partial<PodSpec> = {}, labels = {}) {
    const containers = [{ name: "c", image: "none" }];
    const metadata = { name, namespace: "default", labels };
    await client.create(PodResource, { metadata, spec: { nodeName, containers, ...spec } });
    const { podIP = "" } = status;
    await tell(name, { phase: "Running", podIPs: [{ ip: podIP }], ...status });
  }

  async function tell(name: string, status: PodStatus): Promise<void> {
    await client.mergePatch(PodResource, { name, namespace: "default" }, { status }, { subresource: "status" });
  }

  /** Starts what the gateway's role starts for its routes, in a pod with this address. Gives the kinds that it watches. */
  async function start(address: string, nodeName = "n1"): Promise<string[]> {
    gateway = await Namespace.create("gateway");
    await connect(gateway, "eth0", await Namespace.create("node"), "eth0");
    await gateway.run("ip", ["addr", "add", `${address}/32`, "dev", "eth0"]);
    const watched: string[] = [];
    const watch: KubeClient["watch"] = (type, ...rest) => {
      watched.push(type.plural);
      return client.watch(type, ...rest);
    };
    const logger = createLogger("test");
    logger.level = process.env["LOG_LEVEL"] ?? "error";
    const reader = Object.assign(Object.create(client) as KubeClient, { watch });
    const current = new GatewaySources(reader, { ...args, nodeName }, logger, () => loop?.notice());
    sources = current;
    loop = new LevelLoop({
      apply: async () => {
        const state = collectState(args, current.objects());
        await applyVxlan(gateway.run, gatewayLinks(state));
        await applyRouting(gateway.run, gatewayRouting(state));
      },
      wanted: () => collectState(args, current.objects()),
      logger,
    });
    // As those of a process that its container has started anew.
    await yieldOwnAddress(gateway.run);
    await current.start((await ownAddresses(gateway.run)).map((own) => own.address));
    // The first pass has all that it goes by.
    if (current.objects().ignoresPodRanges)
      expect(current.objects().podAddresses("n1")).to.deep.equal(["192.168.235.194"]);
    loop.start();
    return watched;
  }

  /** Those towards the pods, in the kernel. */
  async function routes(): Promise<string[]> {
    const query = ["-4", "route", "show", "table", String(FROM_TUNNEL.table)];
    const all = await ipQuery<{ dst: string; gateway?: string; dev: string }>(gateway.run, query);
    return all.flatMap(({ dst, gateway: via, dev }) => (via ? [`${dst} ${dev}`] : [])).sort();
  }

  async function expectRoutes(expected: string[]): Promise<void> {
    let last: string[] = [];
    const found = until("the routes", DEADLINE_MS, async () => {
      last = await routes();
      return last.join() === expected.join() || undefined;
    });
    await found.catch(() => expect(last).to.deep.equal(expected));
  }

  it("are to the nodes' ranges where pods' addresses are in them, and no pod is watched", async () => {
    await addPod("within", "n1", { podIP: "192.168.0.20" });
    const watched = await start("192.168.0.9");
    await expectRoutes(RANGES);
    expect(watched).to.include("nodes").and.not.include("pods");
    await client.delete(PodResource, { name: "within", namespace: "default" }, { gracePeriodSeconds: 0 });
    await addPod("a", "n1", { podIP: "192.168.235.194" });
  });

  it("are to each pod where another's address is in none, though its own is", async () => {
    await start("192.168.0.9");
    await expectRoutes(["192.168.235.194 liqo.n1"]);
  });

  it("are to each pod where it is in none, come with pods, and go with them", async () => {
    const first = ["192.168.235.194 liqo.n1"];
    await start("192.168.235.193");
    await expectRoutes(first);

    await addPod("b", "n2", { podIP: "192.168.90.7" });
    await expectRoutes([...first, "192.168.90.7 liqo.n2"]);
    const podIPs = [{ ip: "fd00::7" }, { ip: "192.168.90.8" }];
    await addPod("both-families", "n2", { podIP: "fd00::7", podIPs });
    await expectRoutes([...first, "192.168.90.7 liqo.n2", "192.168.90.8 liqo.n2"]);

    await tell("b", { phase: "Succeeded" });
    await expectRoutes([...first, "192.168.90.8 liqo.n2"]);
    await client.delete(PodResource, { name: "both-families", namespace: "default" }, { gracePeriodSeconds: 0 });
    await expectRoutes(first);
  });

  it("are to the nodes' ranges as long as its own node is not known", async () => {
    const watched = await start("192.168.235.193", "n3");
    await expectRoutes(RANGES);
    expect(watched).not.to.include("pods");
    await client.create(NodeResource, { metadata: { name: "n3" }, spec: { podCIDRs: ["192.168.2.0/24"] } });
    await expectRoutes(["192.168.235.194 liqo.n1"]);
  });
});
