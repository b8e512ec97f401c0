import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect } from "chai";
import {
  GeneveTunnelResource,
  InternalFabricResource,
  InternalNodeResource,
  Labels,
  RouteConfigurationResource,
} from "../../../agent/api/index.js";
import { ClusterRoleBindingResource, sameJson, type KubeClient } from "../../../agent/runtime/index.js";
import { waitFor } from "../../support/wait.js";
import { until } from "../../clusters/support/wait.js";
import { START_LIMIT_MS, startApiServer, type ApiServer } from "../support/api-server.js";
import { Namespace } from "./support/namespaces.js";
import { NodeAccess } from "./support/node-access.js";

const AGENT = fileURLToPath(new URL("../../../agent/main.ts", import.meta.url));
/** By its address: the namespace has another working directory. */
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const NODE = "node-1";
const PEER = { name: "peer", namespace: "default" };
const TUNNEL = { name: "peer-node-1", namespace: "default" };
const ROUTE = { name: "own", namespace: "default" };
const RIGHTS = { name: "fabric" };

/** The fabric's own process, with a real API server, on a node that is a network namespace and can be cut off. */
describe("the end of a node's fabric", function () {
  this.timeout(120_000);
  let server: ApiServer;
  let client: KubeClient;
  let kubeconfig: string;
  let node: Namespace;
  let access: NodeAccess;
  let fabric: ChildProcess;

  before(async function () {
    if (process.getuid?.() !== 0) this.skip();
    this.timeout(START_LIMIT_MS);
    server = await startApiServer();
    client = server.client;
    kubeconfig = `${server.kubeconfigPath}.fabric`;
    await writeFile(kubeconfig, await server.kubeconfigFor("fabric"), { mode: 0o600 });
    await makeLink();
  });
  after(() => server?.stop());

  beforeEach(async () => {
    await Promise.all([grantRights(), makePeer(), makeRoute()]);
    node = await Namespace.create("node");
    await node.sh("ip addr add 198.18.0.11/24 dev lo");
    access = await NodeAccess.open(node, server.url);
    fabric = startFabric();
    await until(
      "link, table and both routes on the node",
      60_000,
      async () => (await present()).length === 4 || undefined,
    );
  });
  afterEach(async () => {
    await access?.end();
    await Namespace.closeAll();
  });

  it("has told the node's addresses by then, and those that came since", async () => {
    await addressesTold("198.18.0.11");
    await node.sh("ip addr add 10.244.0.1/24 dev lo");
    await addressesTold("10.244.0.1", "198.18.0.11");
    await end();
  });

  it("leaves all there for the next one", async () => {
    await end();
    expect(await present()).to.have.length(4);
  });

  it("leaves all there where the API server says nothing", async () => {
    access.cut();
    await client.delete(InternalFabricResource, PEER);
    await end();
    expect(await present()).to.have.length(4);
  });

  it("takes off what went while the node was cut off, though no watch has told", async () => {
    access.cut();
    await client.delete(InternalFabricResource, PEER);
    access.mend();
    await end();
    expect(await present()).to.deep.equal(["route 203.0.113.0/24"]);
  });

  it("takes off everything where the installation went, and the fabric's rights with it, while the node was cut off", async () => {
    access.cut();
    await Promise.all([
      client.delete(InternalFabricResource, PEER),
      client.delete(RouteConfigurationResource, ROUTE),
      client.delete(ClusterRoleBindingResource, RIGHTS),
    ]);
    access.mend();
    await end();
    expect(await present()).to.deep.equal([]);
  });

  function startFabric(): ChildProcess {
    const environment = { KUBECONFIG: kubeconfig, NODE_NAME: NODE, POD_NAMESPACE: "liqo" };
    const child = node.start(process.execPath, ["--import", TSX, AGENT, "fabric"], environment);
    child.stdout?.resume();
    return child;
  }

  async function end(): Promise<void> {
    const exit = once(fabric, "exit");
    fabric.kill("SIGTERM");
    await exit;
  }

  /** What there is of the agent's on the node. */
  async function present(): Promise<string[]> {
    const [links, tables, routes] = await Promise.all([
      node.sh("ip -brief link show type vxlan"),
      node.sh("nft list tables"),
      node.sh("ip route show table all"),
    ]);
    return [
      ...[...links.matchAll(/^liqo\.\S+/gm)].map(([name]) => `link ${name}`),
      ...[...tables.matchAll(/^table .*liqo.*/gm)].map(([table]) => table),
      ...[...routes.matchAll(/^(10\.71\.0\.0\/16|203\.0\.113\.0\/24) /gm)].map(([, range]) => `route ${range}`),
    ];
  }

  async function addressesTold(...addresses: string[]): Promise<void> {
    const limit = { timeoutMs: 20_000, what: `the node's addresses to be told: ${addresses.join(", ")}` };
    await waitFor(client, InternalNodeResource, limit, ([node]) => sameJson(node?.status?.addresses, addresses));
  }

  async function grantRights(): Promise<void> {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "fabric" }];
    await client.apply(ClusterRoleBindingResource, { metadata: RIGHTS, roleRef, subjects }, { fieldManager: "test" });
  }

  async function makePeer(): Promise<void> {
    const spec = {
      mtu: 1340,
      gatewayIP: "198.18.0.99",
      remoteCIDRs: ["10.71.0.0/16"],
      interface: { node: { name: "liqo.gatewaypod" }, gateway: { ip: "10.80.0.9" } },
    };
    const object = InternalFabricResource.build({ metadata: PEER, spec });
    await client.apply(InternalFabricResource, object, { fieldManager: "test" });
  }

  async function makeRoute(): Promise<void> {
    const labels = { "networking.liqo.io/route-category": "fabric" };
    const routes = [{ dst: "203.0.113.0/24", dev: "lo" }];
    const spec = { table: { name: "own", rules: [{ dst: "203.0.113.0/24", routes }] } };
    const object = RouteConfigurationResource.build({ metadata: { ...ROUTE, labels }, spec });
    await client.apply(RouteConfigurationResource, object, { fieldManager: "test" });
  }

  async function makeLink(): Promise<void> {
    const ends = { gateway: { name: "liqo.node1" }, node: { ip: "10.80.0.1" } };
    await client.create(
      InternalNodeResource,
      InternalNodeResource.build({ metadata: { name: NODE }, spec: { interface: ends } }),
    );
    const labels = { [Labels.internalFabricName]: PEER.name, [Labels.internalNodeName]: NODE };
    const spec = { id: 11, internalFabricRef: { name: PEER.name }, internalNodeRef: { name: NODE } };
    await client.create(GeneveTunnelResource, GeneveTunnelResource.build({ metadata: { ...TUNNEL, labels }, spec }));
  }
});
